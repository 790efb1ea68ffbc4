import { inOneLine, limits, type RegistrationState, type listRegistrationsQuery } from '@gatehouse/contracts'
import { bigintArray, read } from '@gatehouse/database'
import { Registration, User } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { hashSecret } from '../hashing/hash-secret.ts'
import { boundsAt, isWaiting } from './is-waiting.ts'
import { hasParts, searchNames } from './search-names.ts'

type ReadDeps = Pick<Deps, 'orm' | 'databaseTime'>

/** What became of it, by its receipt. Contract: 3, Approval. */
export async function readRegistration(
  { orm, databaseTime }: ReadDeps,
  receipt: string,
): Promise<{ state: RegistrationState; username: string | null }> {
  const em = orm.em.fork()
  const registration = await em.findOne(Registration, { receiptHash: hashSecret(receipt) })
  const now = await databaseTime(em)
  if (registration && isWaiting(registration, now)) return { state: 'pending', username: registration.username }
  const userId = registration && registration.createdAt > boundsAt(now).created ? registration.userId : null
  const user = userId == null ? null : await em.findOne(User, { id: userId })
  return user ? { state: 'approved', username: user.username } : { state: 'ended', username: null }
}

type Row = Record<'id' | 'username', string> &
  Record<'displayName' | 'reason' | 'network' | 'client' | 'provider', string | null> &
  Record<'createdAt', number> & { deniedAt: number | null }

const columns = `id::text as id, username, display_name as "displayName", reason, network, client, provider,
  (extract(epoch from created_at) * 1000)::float8 as "createdAt", (extract(epoch from denied_at) * 1000)::float8 as "deniedAt"`
/** As in the index of them. */
const texts = `fold_names(username,
  coalesce(display_name, '') || chr(10) || coalesce(reason, '') || chr(10) || coalesce(network, ''))`

/** `total`: where it is known already. */
type Where = { sql: string; values: unknown[]; total?: number }

/** Oldest first, with those that were denied in the last minute. Contract: 3, Approval. */
export async function listRegistrations(
  { orm, databaseTime }: ReadDeps,
  { q, limit, cursor }: z.output<typeof listRegistrationsQuery>,
) {
  const em = orm.em.fork()
  const { created, denied } = boundsAt(await databaseTime(em))
  const text = inOneLine(q ?? '').trim()
  const all: Where = { sql: 'from registrations where username is not null and created_at > ?', values: [created] }
  const { sql, values, total } = text ? await findMatching(em, all, text) : all
  const page = `select ${columns} ${sql} and (denied_at is null or denied_at > ?) and id > ? order by registrations.id limit ?`
  const counting = `select count(*)::int as total from (select ${sql} and denied_at is null limit ${limits.waitingCountMax}) as waiting`
  const [rows, waiting] = await Promise.all([
    read<Row>(em, page, [...values, denied, cursor ?? '0', limit + 1]),
    total ?? read<{ total: number }>(orm.em.fork(), counting, values).then(([row]) => row?.total ?? 0),
  ])
  const registrations = rows.slice(0, limit)
  const nextCursor = rows.length > limit ? (registrations.at(-1)?.id ?? null) : null
  return { registrations, total: waiting, nextCursor }
}

/**
 * One read of the index of texts is the total and the page: in the order of the page, a rare text is looked for in all rows.
 * More than are counted are found soon there. Design: invariant 13.
 */
async function findMatching(em: EntityManager, { sql, values }: Where, text: string): Promise<Where> {
  const { matches, parts } = await searchNames(em, text, texts)
  const matching: Where = { sql: `${sql} and ${matches.sql}`, values: [...values, ...matches.values] }
  const byIndex = hasParts(texts, parts)
  const most = limits.waitingCountMax
  const reading = `select id::text as id, denied_at is null as "isWaiting" ${matching.sql} and ${byIndex.sql} limit ${most + 1}`
  const rows = await read<{ id: string; isWaiting: boolean }>(em, reading, [...matching.values, ...byIndex.values])
  if (rows.length <= most) {
    const ids = bigintArray(rows.map(({ id }) => id))
    return { sql: `${sql} and id = any(?::bigint[])`, values: [...values, ids] }
  }
  const waiting = rows.filter(({ isWaiting }) => isWaiting).length
  return waiting < most ? matching : { ...matching, total: most }
}
