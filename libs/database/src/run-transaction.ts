import type { EntityManager, MikroORM } from '@mikro-orm/postgresql'
import { DatabaseUnavailable, withStatementLimit } from './driver.ts'
import { accountWaitMs, deadlockRetries, longWork, transactionsPerAccount } from './policy.ts'
import { createSlots, type Slots } from './slots.ts'

type Options = {
  /** The account whose row it locks: few such transactions hold a connection at once. */
  accountId?: string
  retries?: number
}

const deadlockDetected = '40P01'

/** Repeats after a deadlock. Throws DatabaseUnavailable, also at `lock_timeout`. docs/decisions/bounded-waits.md. */
export async function runTransaction<T>(
  orm: MikroORM,
  transaction: (em: EntityManager) => Promise<T>,
  { accountId, retries = deadlockRetries }: Options = {},
): Promise<T> {
  if (accountId === undefined) return await runWithRetries(orm, transaction, retries)
  return await inTurn(orm, accountId, () => runWithRetries(orm, transaction, retries))
}

/** For deletions, which change many rows. */
export async function allowLongWork(em: EntityManager): Promise<void> {
  await limitTransaction(em, longWork)
}

/** For the rest of the transaction. 0 is no limit. */
export async function limitTransaction(
  em: EntityManager,
  { lockMs, statementMs }: { lockMs: number; statementMs: number },
): Promise<void> {
  const sql = `set local lock_timeout = ${lockMs}; set local statement_timeout = ${statementMs}`
  await withStatementLimit(statementMs, () => em.execute(sql))
}

/** In milliseconds: one clock for all replicas. Contract: 3. */
export async function databaseTime(em: EntityManager): Promise<number> {
  const sql = 'select floor(extract(epoch from clock_timestamp()) * 1000)::text as now'
  const [row] = await em.execute<{ now: string }[]>(sql)
  return Number(row?.now)
}

async function runWithRetries<T>(
  orm: MikroORM,
  transaction: (em: EntityManager) => Promise<T>,
  retries: number,
): Promise<T> {
  try {
    return await orm.em.fork().transactional(transaction)
  } catch (error) {
    if (!isDeadlock(error)) throw error
    if (retries === 0) throw new DatabaseUnavailable('a transaction deadlocked again and again', { cause: error })
    return await runWithRetries(orm, transaction, retries - 1)
  }
}

function isDeadlock(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === deadlockDetected
}

const slotsOfAccounts = new WeakMap<MikroORM, Map<string, Slots>>()

async function inTurn<T>(orm: MikroORM, accountId: string, work: () => Promise<T>): Promise<T> {
  const accounts = slotsOfAccounts.get(orm) ?? new Map<string, Slots>()
  slotsOfAccounts.set(orm, accounts)
  const slots = accounts.get(accountId) ?? createSlots({ max: transactionsPerAccount, waitMs: accountWaitMs })
  accounts.set(accountId, slots)
  const giveBack = await slots.take()
  try {
    return await work()
  } finally {
    giveBack()
    if (slots.idle()) accounts.delete(accountId)
  }
}
