import { limits, type RegistrationState, type listRegistrationsQuery } from '@gatehouse/contracts'
import { read } from '@gatehouse/database'
import { Registration, User } from '@gatehouse/domain'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { hashSecret } from '../hashing/hash-secret.ts'
import { boundsAt, isWaiting } from '../operations/approval/waiting.ts'

type ReadDeps = Pick<Deps, 'orm' | 'databaseTime'>

/** What became of it, by its receipt. Contract: 3, Approval. */
export async function readRegistration(
  { orm, databaseTime }: ReadDeps,
  receipt: string,
): Promise<{ state: RegistrationState; username: string | null }> {
  const em = orm.em.fork()
  const found = await em.findOne(Registration, { receiptHash: hashSecret(receipt) })
  const now = await databaseTime(em)
  if (found && isWaiting(found, now)) return { state: 'pending', username: found.username }
  const userId = found && found.createdAt > boundsAt(now).created ? found.userId : null
  const user = userId == null ? null : await em.findOne(User, { id: userId })
  return user ? { state: 'approved', username: user.username } : { state: 'ended', username: null }
}

type Row = Record<'id' | 'username', string> &
  Record<'displayName' | 'reason' | 'network' | 'client' | 'provider', string | null> &
  Record<'createdAt', number> & { deniedAt: number | null }

const columns = `id::text as id, username, display_name as "displayName", reason, network, client, provider,
  (extract(epoch from created_at) * 1000)::float8 as "createdAt", (extract(epoch from denied_at) * 1000)::float8 as "deniedAt"`
const searched = ['username', 'display_name', 'reason', 'network']

/** Oldest first, with those that were denied in the last minute. Contract: 3, Approval. */
export async function listRegistrations(
  { orm, databaseTime }: ReadDeps,
  { q, limit, cursor }: z.output<typeof listRegistrationsQuery>,
) {
  const em = orm.em.fork()
  const { created, denied } = boundsAt(await databaseTime(em))
  const text = q?.trim()
  const like = text ? `%${text.replace(/[\\%_]/g, '\\$&')}%` : undefined
  const matches = like ? ` and (${searched.map((column) => `${column} ilike ?`).join(' or ')})` : ''
  const values = like ? searched.map(() => like) : []
  const where = `from registrations where username is not null and created_at > ?${matches}`
  const page = `select ${columns} ${where} and (denied_at is null or denied_at > ?) and id > ? order by registrations.id limit ?`
  const counting = `select count(*)::int as total from (select ${where} and denied_at is null limit ${limits.waitingCountMax}) as waiting`
  const [rows, [counted]] = await Promise.all([
    read<Row>(em, page, [created, ...values, denied, cursor ?? '0', limit + 1]),
    read<{ total: number }>(orm.em.fork(), counting, [created, ...values]),
  ])
  const registrations = rows.slice(0, limit)
  const nextCursor = rows.length > limit ? (registrations.at(-1)?.id ?? null) : null
  return { registrations, total: counted?.total ?? 0, nextCursor }
}
