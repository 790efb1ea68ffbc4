import type { listUsersQuery } from '@gatehouse/contracts'
import { bigintArray, findsPartsOfNames, read } from '@gatehouse/database'
import { User } from '@gatehouse/domain'
import { raw, type EntityManager, type FilterQuery, type QueryOrderMap } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import { boundsOfDay } from './days.ts'

type UsersQuery = z.infer<typeof listUsersQuery>

const exactTotal = 10_000

type Total = { total: number; totalIsEstimate?: true }

/** A page of the accounts, after `cursor` where it is given, and how many there are in all. Contract: 5; Design: invariant 13. */
export async function listUsers(em: EntityManager, query: UsersQuery) {
  const { page, pageSize, cursor, sort } = query
  const where = await filterOf(em, query)
  const { matching, ...counted } = query.q?.trim()
    ? await findMatching(em, where)
    : { matching: where, ...(await countUsers(em, where)) }
  const found = await em.find(User, cursor === undefined ? matching : { $and: [matching, isAfter(cursor, sort)] }, {
    orderBy: orderOf(sort),
    limit: pageSize + 1,
    offset: cursor === undefined ? (page - 1) * pageSize : 0,
  })
  const users = found.slice(0, pageSize)
  const nextCursor = found.length > pageSize ? (users.at(-1)?.id ?? null) : null
  return { users, nextCursor, ...counted }
}

/** One read of the index of names is the total and the page: for a page in order the planner may read all accounts instead, when it takes a rare text for a frequent one. */
async function findMatching(em: EntityManager, where: FilterQuery<User>) {
  const { sql, values } = statementOf(em, 'u.id', where)
  const rows = await em.execute<{ id: string }[]>(`${sql} limit ${exactTotal + 1}`, values)
  if (rows.length > exactTotal) return { matching: where, ...(await estimateUsers(em, where)) }
  const ids = bigintArray(rows.map(({ id }) => id))
  const matching: FilterQuery<User> = { [raw((alias) => `${alias}.id = any(?::bigint[])`, [ids])]: [] }
  return { matching, total: rows.length }
}

function statementOf(em: EntityManager, selected: string, where: FilterQuery<User>) {
  const selection = em.createQueryBuilder(User, 'u').select(raw(selected))
  const query = selection.where(where as object)
  return { sql: query.getQuery(), values: [...query.getParams()] }
}

export async function countUsers(em: EntityManager, where: FilterQuery<User>): Promise<Total> {
  const { sql, values } = statementOf(em, '1', where)
  const counting = `select count(*) from (${sql} limit ${exactTotal + 1}) as matching`
  const [counted] = await em.execute<{ count: string }[]>(counting, values)
  const total = Number(counted?.count)
  return total <= exactTotal ? { total } : await estimateUsers(em, where)
}

/** Beyond ten thousand it is what the planner thinks. */
async function estimateUsers(em: EntityManager, where: FilterQuery<User>): Promise<Total> {
  const { sql, values } = statementOf(em, '1', where)
  type Plan = { 'QUERY PLAN': { Plan: { 'Plan Rows': number } }[] }
  const [plan] = await em.execute<Plan[]>(`explain (format json) ${sql}`, values)
  const planned = plan?.['QUERY PLAN'][0]?.Plan['Plan Rows'] ?? 0
  return { total: Math.max(exactTotal + 1, planned), totalIsEstimate: true }
}

async function filterOf(em: EntityManager, query: UsersQuery): Promise<FilterQuery<User>> {
  const { showDeleted, homeInstance, role, joinedAfter, joinedBefore, tz, suspended, invite } = query
  const parts: FilterQuery<User>[] = []
  if (!showDeleted) parts.push({ isDeleted: false })
  if (homeInstance) parts.push({ homeInstance: homeInstance === 'local' ? null : homeInstance.toLowerCase() })
  if (role) parts.push({ isAdmin: role === 'admin' })
  if (joinedAfter) parts.push({ createdAt: { $gte: boundsOfDay(joinedAfter, tz).start } })
  if (joinedBefore) parts.push({ createdAt: { $lt: boundsOfDay(joinedBefore, tz).end } })
  const isSet = { $ne: null }
  if (suspended) parts.push({ $or: [{ suspendedAt: isSet }, { homeSuspendedAt: isSet }] })
  const redeemed = 'select user_id from invite_redemptions where invite_id = ?'
  if (invite) parts.push({ [raw((alias) => `${alias}.id in (${redeemed})`, [invite])]: [] })
  const text = query.q?.trim()
  if (text) parts.push(await nameHas(em, text))
  return { $and: parts }
}

/** Shorter texts have no trigram of their own: those at the start of a word are found. */
async function nameHas(em: EntityManager, text: string): Promise<FilterQuery<User>> {
  const escaped = text.replace(/[\\%_]/g, '\\$&')
  if (!(await findsPartsOfNames(em))) return { username: { $like: `${escaped.toLowerCase()}%` } }
  const like = [...text].length < 3 ? `${escaped}%` : `%${escaped}%`
  return { $or: [{ username: { $ilike: like } }, { displayName: { $ilike: like } }] }
}

const isByName = (sort: UsersQuery['sort']) => sort === 'az' || sort === 'za'

/** The id breaks ties, so that no page repeats or skips an account. */
function orderOf(sort: UsersQuery['sort']): QueryOrderMap<User>[] {
  if (isByName(sort)) return [{ username: sort === 'az' ? 'asc' : 'desc' }]
  const direction = sort === 'oldest' ? 'asc' : 'desc'
  return [{ createdAt: direction }, { id: direction }]
}

/** Rows of users stay, so the last one of a page tells where the next begins. */
function isAfter(cursor: string, sort: UsersQuery['sort']): FilterQuery<User> {
  const columns = isByName(sort) ? ['username'] : ['created_at', 'id']
  const sign = sort === 'az' || sort === 'oldest' ? '>' : '<'
  const last = `(select ${columns.join()} from users where id = ?)`
  const columnsOf = (alias: string) => columns.map((column) => `${alias}.${column}`).join()
  return { [raw((alias) => `(${columnsOf(alias)}) ${sign} ${last}`, [cursor])]: [] }
}

/** The home instances of the live users and stubs, in the order of the alphabet. One step of the index for each. Contract: 5. */
export async function listUserInstances(em: EntityManager): Promise<string[]> {
  const next = 'select min(home_instance) as host from users where not is_deleted and home_instance'
  const sql = `with recursive hosts as (
      ${next} is not null union all select (${next} > host) from hosts where host is not null
    ) select host from hosts where host is not null`
  return (await read<{ host: string }>(em, sql)).map(({ host }) => host)
}
