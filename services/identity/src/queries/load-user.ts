import { type ActingCaller, assertCurrent } from '@gatehouse/authority'
import { baseUsername, normalizeUsername, snowflake, usernameHere } from '@gatehouse/contracts'
import { batchedRead, read } from '@gatehouse/database'
import { PeerReset, User, plainUserProperties, stubPasswordHash } from '@gatehouse/domain'
import type { PlainUser } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { Resources } from '@gatehouse/service-kit'
import type { EntityManager } from '@mikro-orm/postgresql'

const readById = batchedRead({ name: 'users_by_id', entity: User, properties: plainUserProperties, key: 'id' })

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

/** The local admins who are neither deleted nor suspended. All admins are locked in the order of ids. Contract: 5, role. */
export async function lockLocalAdmins(em: EntityManager): Promise<{ id: string }[]> {
  const sql = `select id::text as id, home_instance is null and not is_deleted and suspended_at is null
      and home_suspended_at is null as counts from users where is_admin order by users.id for no key update`
  // The first statement does not see who became an admin while it waited.
  await read(em, sql)
  return (await read<{ id: string; counts: boolean }>(em, sql)).filter(({ counts }) => counts)
}

/** Throws user_unknown, target_deleted. */
export function requireLive(user: User | null): User {
  if (!user) throw refuse.user_unknown()
  if (user.isDeleted) throw refuse.target_deleted()
  return user
}

/** A name as it stands comes first: of an instance at another port the domain is the same. Contract: 1, Names as typed. */
export async function findNamed(em: EntityManager, typed: string, domain: string): Promise<User[]> {
  const exact = normalizeUsername(typed)
  const users = await em.find(User, { username: { $in: [exact, usernameHere(typed, domain)] } })
  return users.toSorted((one, other) => Number(other.username === exact) - Number(one.username === exact))
}

/** `id:` or `name:` in front decides: a name may be the digits of another id. Throws user_unknown, user_ambiguous. */
export async function findUser(em: EntityManager, reference: string): Promise<User> {
  const [, kind, text = ''] = /^(?:(id|name):)?(.*)$/s.exec(reference) ?? []
  const isId = kind !== 'name' && !text.startsWith('0') && snowflake.safeParse(text).success
  const byId = isId ? await em.findOne(User, { id: text }) : null
  const byName = kind !== 'id' ? await em.findOne(User, { username: normalizeUsername(text) }) : null
  if (byId && byName && byId.id !== byName.id) throw refuse.user_ambiguous()
  const user = byId ?? byName
  if (!user) throw refuse.user_unknown()
  return user
}

/** `homeInstance` in lower case. The base of `username` counts. */
export type FederatedIdentity = { homeInstance: string; homeUserId: string | null; username: string }

/** By id at home, else by base name: accounts before stubs, none with another id. Contract: 3, the federated lookup. */
export async function findFederatedUser(em: EntityManager, identity: FederatedIdentity): Promise<User | null> {
  const { homeInstance, homeUserId } = identity
  if (homeUserId !== null) {
    const user = await em.findOne(User, { homeInstance, homeUserId, isDeleted: false })
    if (user) return user
  }
  const sql = `select id::text as id from users
    where home_instance = ? and split_part(username, '@', 1) = ? and not is_deleted
      and (?::text is null or home_user_id is null)
    order by password_hash = ?, users.id limit 1`
  const parameters = [homeInstance, baseUsername(identity.username), homeUserId, stubPasswordHash]
  const [namesake] = await read<{ id: string }>(em, sql, parameters)
  return namesake ? await em.findOne(User, { id: namesake.id }) : null
}

/**
 * Whether the account is one of an instance that another one has replaced at its host, and waits for its detachment. The new
 * one has no word on it. Contract: 7, Detached accounts.
 */
export async function isOfFormerInstance(em: EntityManager, { homeInstance, createdAt }: User): Promise<boolean> {
  const isReplaced = { $or: [{ seenAt: { $gte: createdAt } }, { seenAt: null, newInstanceId: { $ne: null } }] }
  return (await em.count(PeerReset, { host: homeInstance ?? '', ...isReplaced })) > 0
}

type RemoteIdentity = { homeUserId: string; homeInstance: string }

/** The live account, else a tombstone. Spec: Tombstone, resolver. */
export async function findIdentity(em: EntityManager, { homeUserId, homeInstance }: RemoteIdentity) {
  const where = { homeUserId, homeInstance: homeInstance.toLowerCase() }
  return await em.findOne(User, where, { orderBy: { isDeleted: 'asc', id: 'desc' } })
}
