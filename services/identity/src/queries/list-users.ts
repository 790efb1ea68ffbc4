import { inOneLine, type listUsersQuery } from '@gatehouse/contracts'
import { read } from '@gatehouse/database'
import { User } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import { boundsOfDay } from './days.ts'
import { sampleNames, searchNames, type Condition } from './search-names.ts'

type UsersQuery = z.infer<typeof listUsersQuery>

const exactTotal = 10_000
/** In a sample as many are no chance, and three times the exact total is surely above it. */
const certain = { found: 50, estimate: 3 * exactTotal }

type Total = { total: number; totalIsEstimate?: true }
type Row = Record<string, unknown> & { id: string }

/** A page of the accounts, after `cursor` where it is given, and how many there are in all. Contract: 5, users; Design: invariant 13. */
export async function listUsers(em: EntityManager, query: UsersQuery) {
  const filter = filterOf(query)
  const text = inOneLine(query.q ?? '').trim()
  const { rows, ...counted } = text
    ? await findUsers(em, { query, filter, text })
    : { ...(await countUsers(em, filter)), rows: await readPage(em, query, filter) }
  const users = rows.slice(0, query.pageSize).map((row) => em.map(User, row))
  const nextCursor = rows.length > query.pageSize ? (users.at(-1)?.id ?? null) : null
  return { users, nextCursor, ...counted }
}

type Search = { query: UsersQuery; filter: Condition; text: string }

/**
 * What many have is soon found in the order of the page, what few have by the index of names. PostgreSQL doesn't know which:
 * it would read all accounts for the page, or a list of all in the index.
 */
async function findUsers(em: EntityManager, { query, filter, text }: Search): Promise<Total & { rows: Row[] }> {
  const search = await searchNames(em, text)
  const { found, estimate, byIndex } = await sampleNames(em, filter, search)
  const matching = both(filter, search.matches)
  if (found < certain.found || estimate < certain.estimate) {
    const few = await readMatching(em, query, byIndex ? both(matching, byIndex) : matching)
    if (few.total <= exactTotal) return few
  }
  const rows = await readPage(em, query, matching)
  return { rows, total: Math.max(exactTotal + 1, estimate), totalIsEstimate: true }
}

/** One read of the index of names is the total and the page. The rows are right up to the exact total. */
async function readMatching(em: EntityManager, query: UsersQuery, { sql, values }: Condition) {
  const matching = `select u.id, u.username, u.created_at from users u where ${sql} limit ${exactTotal + 1}`
  const page = pageOf(query, { sql: 'true', values: [] })
  const statement = `with matching as materialized (${matching}), page as (select u.id from matching u ${page.sql})
    select total.total, u.* from (select count(*)::float8 as total from matching) total
    left join (page join users u on u.id = page.id) on true order by ${orderOf(query.sort)}`
  type CountedRow = Record<string, unknown> & { total: number; id: string | null }
  const countedRows = await read<CountedRow>(em, statement, [...values, ...page.values])
  const rows = countedRows.flatMap(({ total: _, id, ...row }) => (id === null ? [] : [{ ...row, id }]))
  return { total: countedRows[0]?.total ?? 0, rows }
}

async function readPage(em: EntityManager, query: UsersQuery, filter: Condition): Promise<Row[]> {
  const page = pageOf(query, filter)
  return await read<Row>(em, `select u.* from users u ${page.sql}`, page.values)
}

/** One more tells whether the list continues. */
function pageOf({ page, pageSize, cursor, sort }: UsersQuery, filter: Condition): Condition {
  const { sql, values } = cursor === undefined ? filter : both(filter, isAfter(cursor, sort))
  const offset = cursor === undefined ? (page - 1) * pageSize : 0
  return { sql: `where ${sql} order by ${orderOf(sort)} limit ? offset ?`, values: [...values, pageSize + 1, offset] }
}

export async function countUsers(em: EntityManager, { sql, values }: Condition): Promise<Total> {
  const counting = `select count(*)::float8 as count from (select from users u where ${sql} limit ${exactTotal + 1}) matching`
  const [{ count: total } = { count: 0 }] = await read<{ count: number }>(em, counting, values)
  if (total <= exactTotal) return { total }
  type Plan = { 'QUERY PLAN': { Plan: { 'Plan Rows': number } }[] }
  const [plan] = await read<Plan>(em, `explain (format json) select from users u where ${sql}`, values)
  const planned = plan?.['QUERY PLAN'][0]?.Plan['Plan Rows'] ?? 0
  return { total: Math.max(exactTotal + 1, planned), totalIsEstimate: true }
}

function filterOf(query: UsersQuery): Condition {
  const { showDeleted, homeInstance, role, joinedAfter, joinedBefore, tz, suspended, invite } = query
  const parts: Condition[] = []
  const add = (sql: string, ...values: unknown[]) => parts.push({ sql, values })
  if (!showDeleted) add('not u.is_deleted')
  if (homeInstance === 'local') add('u.home_instance is null')
  else if (homeInstance) add('u.home_instance = ?', homeInstance.toLowerCase())
  if (role) add(role === 'admin' ? 'u.is_admin' : 'not u.is_admin')
  if (joinedAfter) add('u.created_at >= ?', boundsOfDay(joinedAfter, tz).start)
  if (joinedBefore) add('u.created_at < ?', boundsOfDay(joinedBefore, tz).end)
  if (suspended) add('(u.suspended_at is not null or u.home_suspended_at is not null)')
  if (invite) add('u.id in (select user_id from invite_redemptions where invite_id = ?)', invite)
  return parts.reduce(both, { sql: 'true', values: [] })
}

const both = (one: Condition, other: Condition): Condition => ({
  sql: `${one.sql} and ${other.sql}`,
  values: [...one.values, ...other.values],
})

const isByName = (sort: UsersQuery['sort']) => sort === 'az' || sort === 'za'

/** The id breaks ties, so that no page repeats or skips an account. */
function orderOf(sort: UsersQuery['sort']): string {
  if (isByName(sort)) return sort === 'az' ? 'u.username' : 'u.username desc'
  return sort === 'oldest' ? 'u.created_at, u.id' : 'u.created_at desc, u.id desc'
}

/** Rows of users stay, so the last one of a page tells where the next begins. */
function isAfter(cursor: string, sort: UsersQuery['sort']): Condition {
  const columns = (alias: string) => (isByName(sort) ? `${alias}.username` : `${alias}.created_at, ${alias}.id`)
  const sign = sort === 'az' || sort === 'oldest' ? '>' : '<'
  return {
    sql: `(${columns('u')}) ${sign} (select ${columns('last')} from users last where last.id = ?)`,
    values: [cursor],
  }
}

/** The home instances of the live users and stubs, in the order of the alphabet. One step of the index for each. Contract: 5, users. */
export async function listUserInstances(em: EntityManager): Promise<string[]> {
  const next = 'select min(home_instance) as host from users where not is_deleted and home_instance'
  const sql = `with recursive hosts as (
      ${next} is not null union all select (${next} > host) from hosts where host is not null
    ) select host from hosts where host is not null`
  return (await read<{ host: string }>(em, sql)).map(({ host }) => host)
}
