import { createSlots, type Slots } from '@gatehouse/runtime'
import type { EntityManager, MikroORM } from '@mikro-orm/postgresql'
import type { QueryResult } from 'pg'
import { DatabaseUnavailable, withConnection, withStatementLimit } from './driver.ts'
import { accountWaitMs, conflictRetries, transactionWaitMs, transactionsPerAccount } from './policy.ts'
import { connectionsForReads, defaultConnections, longWork } from './policy.ts'

/**
 * Repeats after a deadlock or another conflict. Waiting transactions leave connections for reads. Of one account, whose row it locks, few hold
 * a connection at once. Throws DatabaseUnavailable, also at `lock_timeout`. docs/decisions/bounded-waits.md.
 */
export async function transaction<T>(
  orm: MikroORM,
  work: (em: EntityManager) => Promise<T>,
  { accountId }: { accountId?: string } = {},
): Promise<T> {
  const { all, ofAccounts } = slotsOf(orm)
  const begin = () => orm.em.fork().transactional(work)
  const run = () => repeatConflicting(() => inSlot(all, 'all', begin))
  return await (accountId === undefined ? run() : inSlot(ofAccounts, accountId, run))
}

async function repeatConflicting<T>(work: () => Promise<T>, retries = conflictRetries): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const isConflict = error instanceof DatabaseUnavailable && error.fault === 'conflict'
    if (!isConflict || retries === 0) throw error
    return await repeatConflicting(work, retries - 1)
  }
}

type TransactionSlots = { all: Slots; ofAccounts: Slots }

const slotsOfOrms = new WeakMap<MikroORM, TransactionSlots>()

function slotsOf(orm: MikroORM): TransactionSlots {
  const slots = slotsOfOrms.get(orm)
  if (slots) return slots
  const connections = orm.config.get('pool').max ?? defaultConnections
  const max = Math.max(1, connections - Math.min(connectionsForReads, Math.floor(connections / 2)))
  const created = {
    all: createSlots({ inAll: () => max, perSource: () => max, waitMs: transactionWaitMs }),
    ofAccounts: createSlots({ inAll: () => Infinity, perSource: () => transactionsPerAccount, waitMs: accountWaitMs }),
  }
  slotsOfOrms.set(orm, created)
  return created
}

/** Waits for a slot. Throws DatabaseUnavailable when none comes in time. */
async function inSlot<T>(slots: Slots, source: string, work: () => Promise<T>): Promise<T> {
  if (!slots.tryTake(source) && !(await slots.wait(source).granted))
    throw new DatabaseUnavailable('too many transactions of this process wait for locks')
  try {
    return await work()
  } finally {
    slots.release(source)
  }
}

/** For the rest of the transaction: deletions change many rows. 0 is no limit. */
export async function allowLongWork(em: EntityManager, { lockMs, statementMs } = longWork): Promise<void> {
  const sql = `set local lock_timeout = ${lockMs}; set local statement_timeout = ${statementMs}`
  await withStatementLimit(statementMs, () => em.execute(sql))
}

/** In milliseconds: one clock for all replicas. With `afterMs`, PostgreSQL waits that long first. Contract: 3, revocation. */
export async function databaseTime(em: EntityManager, afterMs = 0): Promise<number> {
  const sql = 'select floor(extract(epoch from clock_timestamp()) * 1000)::text as now'
  const [row] = await (afterMs > 0
    ? em.execute<{ now: string }[]>(`${sql} from pg_sleep(?)`, [afterMs / 1000])
    : em.execute<{ now: string }[]>(sql))
  return Number(row?.now)
}

/** False at a standby, and where the server or the role is set to read-only. Contract: 8, Readiness. */
export async function takesWrites(em: EntityManager): Promise<boolean> {
  const sql = `select current_setting('transaction_read_only') = 'off' as "takesWrites"`
  const [row] = await em.execute<{ takesWrites: boolean }[]>(sql)
  return row?.takesWrites === true
}

export type ShortTransaction = {
  read<Row>(sql: string, parameters?: unknown[]): Promise<Row[]>
  commitWith<Row>(sql: string, parameters?: unknown[]): Promise<Row[]>
}

/**
 * Begin and commit travel with the first and last statement: half the round trips. No statement may wait for a lock:
 * the transaction takes no slot. Without `commitWith` it is rolled back. `em` is in no transaction. Throws
 * DatabaseUnavailable and the driver's errors.
 */
export async function shortTransaction<T>(
  em: EntityManager,
  work: (transaction: ShortTransaction) => Promise<T>,
): Promise<T> {
  const platform = em.getPlatform()
  return await withConnection(em, async (client) => {
    const state = { isOpen: false }

    async function run<Row>(sql: string, parameters: unknown[] = [], end = ''): Promise<Row[]> {
      const begin = state.isOpen ? '' : 'begin; '
      state.isOpen = end === ''
      // One result for each statement, or one alone; the types know only one.
      const results: unknown = await client.query(`${begin}${platform.formatQuery(sql, parameters)}${end}`)
      const result = ([results].flat() as QueryResult[])[begin === '' ? 0 : 1]
      return (result?.rows ?? []) as Row[]
    }

    const result = await work({
      read: (sql, parameters) => run(sql, parameters),
      commitWith: (sql, parameters) => run(sql, parameters, '; commit'),
    })
    if (state.isOpen) await client.query('rollback')
    return result
  })
}
