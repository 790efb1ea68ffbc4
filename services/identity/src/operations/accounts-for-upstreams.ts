import { upstreamLimits, type ToldAccount } from '@gatehouse/contracts'
import { bigintArray, changeRows, columnsOf, lockName, read, transaction } from '@gatehouse/database'
import { User, plainUserProperties, sanitizeUser } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { Resources } from '@gatehouse/service-kit'

type Deps = Pick<Resources, 'orm'>

/** What upstreams are told of accounts, as users are. Unknown ids are absent. Contract: 3, upstreams. */
export async function readAccountsForUpstream({ orm }: Deps, ids: readonly string[]): Promise<ToldAccount[]> {
  const parameters = [bigintArray(ids)]
  await assignVersions({ orm }, { where: 'version is null and user_id = any(?::bigint[])', parameters })
  return await readSelection({ orm }, { where: 'users.id = any(?::bigint[])', parameters })
}

type ChangesQuery = { after?: number | undefined; limit: number }

/** Without `after`: where to go on for later changes. Contract: 3, upstreams; docs/decisions/upstreams.md. */
export async function listAccountChanges({ orm }: Deps, { after, limit }: ChangesQuery) {
  if (after === undefined) return { accounts: [], next: await readNewest({ orm }), more: false }
  await assignVersions({ orm }, { where: 'version is null', parameters: [] })
  const page = `version > ? order by account_versions.version limit ${limit}`
  const accounts = await readSelection({ orm }, { where: page, parameters: [after] })
  const last = accounts.at(-1)
  if (!last && after > (await readNewest({ orm }))) throw refuse.version_unknown()
  return { accounts, next: last?.version ?? after, more: accounts.length === limit }
}

type Selection = { where: string; parameters: unknown[] }

/** Version 0 means: changed, and not numbered yet. */
async function readSelection({ orm }: Deps, { where, parameters }: Selection): Promise<ToldAccount[]> {
  const columns = columnsOf(orm.em, User, plainUserProperties)
  const sql = `select ${columns.sql}, coalesce(version, 0)::float8 as version
    from account_versions join users on users.id = user_id where ${where}`
  const rows = await read<{ version: number }>(orm.em.fork(), sql, parameters)
  return rows.map((row) => {
    const { id, username, displayName, avatar, isDeleted = false } = sanitizeUser(columns.read(row), false)
    return { id, username, displayName, avatar, isDeleted, version: row.version }
  })
}

async function readNewest({ orm }: Deps): Promise<number> {
  const sql = 'select coalesce(max(version), 0)::float8 as newest from account_versions'
  const [row] = await read<{ newest: number }>(orm.em.fork(), sql)
  return row?.newest ?? 0
}

/**
 * Only what is committed gets a version, and one after the other under a lock that lasts until the commit: nothing with a
 * lower version can become visible later. Accounts that a transaction is changing are skipped.
 */
async function assignVersions({ orm }: Deps, { where, parameters }: Selection): Promise<void> {
  const waiting = await read(orm.em.fork(), `select from account_versions where ${where} limit 1`, parameters)
  if (waiting.length === 0) return
  const sql = `with waiting as (
      select user_id from account_versions where ${where}
      order by user_id limit ${upstreamLimits.changesPage} for update skip locked
    ), numbered as (
      select user_id, row_number() over (order by user_id) - 1 + greatest(
        (extract(epoch from clock_timestamp()) * 1000000)::bigint,
        (select coalesce(max(version), 0) + 1 from account_versions)) as version
      from waiting)
    update account_versions set version = numbered.version
    from numbered where account_versions.user_id = numbered.user_id`
  await transaction(orm, async (em) => {
    await lockName(em, 'account versions')
    await changeRows(em, sql, parameters)
  })
}
