import { batchedRead, bigintArray, read } from '@gatehouse/database'
import { User, assertCurrent, plainUserProperties, type ActingCaller, type PlainUser } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { Resources } from '@gatehouse/service-kit'
import type { EntityManager } from '@mikro-orm/postgresql'
import { normalizeUsername } from '@gatehouse/contracts'

const readById = batchedRead({
  name: 'users_by_id',
  entity: User,
  properties: plainUserProperties,
  key: 'id',
})

/** For reads outside of transactions. Throws user_unknown. */
export async function loadUser(em: EntityManager, userId: string): Promise<PlainUser> {
  const user = await readById(em, userId)
  if (!user) throw refuse.user_unknown()
  return user
}

/** The caller's account. Throws account_deleted, token_revoked. */
export async function loadCaller({ orm }: Pick<Resources, 'orm'>, caller: ActingCaller): Promise<User> {
  const user = await orm.em.fork().findOne(User, { id: caller.userId })
  assertCurrent(user, caller)
  return user
}

/** New rows may still refer to the account. The transfer of a group to a user who is being deleted must not wait. */
export async function lockUser(em: EntityManager, userId: string): Promise<User | null> {
  await read(em, 'select id from users where id = ? for no key update', [userId])
  return await em.findOne(User, { id: userId }, { refresh: true })
}

/** In the order of ids: two admins who act on each other do not deadlock. */
export async function lockInOrder(em: EntityManager, userIds: readonly string[]): Promise<void> {
  const sql = 'select id from users where id = any(?::bigint[]) order by id for no key update'
  await read(em, sql, [bigintArray(userIds)])
}

/** The local admins who are neither deleted nor suspended. All admins are locked in the order of ids. Contract: 5. */
export async function lockLocalAdmins(em: EntityManager): Promise<{ id: string }[]> {
  type Row = { id: string; counts: boolean }
  const sql = `select id::text as id, home_instance is null and not is_deleted and suspended_at is null as counts
    from users where is_admin order by users.id for no key update`
  return (await read<Row>(em, sql)).filter(({ counts }) => counts)
}

/** Throws user_unknown, target_deleted. */
export function requireLive(user: User | null): User {
  if (!user) throw refuse.user_unknown()
  if (user.isDeleted) throw refuse.target_deleted()
  return user
}

const greatestId = 2n ** 63n - 1n

/** `id:` or `name:` in front decides: a name may be the digits of another id. Throws user_unknown, user_ambiguous. */
export async function findUser(em: EntityManager, reference: string): Promise<User> {
  const [, kind, text = ''] = /^(?:(id|name):)?(.*)$/s.exec(reference) ?? []
  const byId = kind !== 'name' && isId(text) ? await em.findOne(User, { id: text }) : null
  const byName = kind !== 'id' ? await em.findOne(User, { username: normalizeUsername(text) }) : null
  if (byId && byName && byId.id !== byName.id) throw refuse.user_ambiguous()
  const user = byId ?? byName
  if (!user) throw refuse.user_unknown()
  return user
}

const isId = (text: string): boolean => /^[1-9][0-9]{0,18}$/.test(text) && BigInt(text) <= greatestId
