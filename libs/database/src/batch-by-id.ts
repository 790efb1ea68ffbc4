import type { EntityManager } from '@mikro-orm/postgresql'
import { assertNoTransaction, type PreparedRead } from './prepared-reads.ts'
import { bigintArray } from './rows.ts'

type Waiter<Row> = { id: string; resolve(row: Row | undefined): void; reject(error: unknown): void }

/** Of one connection pool. */
type Batch<Row> = { waiters: Waiter<Row>[] }

/**
 * Reads one row by its id, those of all that ask in one turn of the event loop by one statement: under load the round trip
 * costs more than the row. No call gets a row that was read before the call. `read` takes an array of ids as its only
 * value; the ids are numbers as text that PostgreSQL accepts.
 */
export function batchById<Row extends { id: string | number }>(
  read: PreparedRead<Row>,
): (em: EntityManager, id: string) => Promise<Row | undefined> {
  const batches = new WeakMap<object, Batch<Row>>()
  return async (em, id) => {
    assertNoTransaction(em)
    const connection = em.getConnection()
    const batch = batches.get(connection) ?? { waiters: [] }
    batches.set(connection, batch)
    return await new Promise((resolve, reject) => {
      batch.waiters.push({ id: canonical(id), resolve, reject })
      if (batch.waiters.length === 1) setImmediate(() => void readBatch(read, em, batch))
    })
  }
}

/** While it waits for a connection, further ones join. */
async function readBatch<Row extends { id: string | number }>(
  read: PreparedRead<Row>,
  em: EntityManager,
  batch: Batch<Row>,
): Promise<void> {
  let waiters: Waiter<Row>[] | undefined
  const take = (): Waiter<Row>[] => {
    const taken = batch.waiters
    batch.waiters = []
    return taken
  }
  try {
    const rows = await read(em, () => [bigintArray(idsOf((waiters = take())))])
    const byId = new Map(rows.map((row) => [String(row.id), row]))
    for (const { id, resolve } of waiters ?? []) resolve(byId.get(id))
  } catch (error) {
    for (const { reject } of waiters ?? take()) reject(error)
  }
}

const idsOf = (waiters: readonly { id: string }[]): string[] => [...new Set(waiters.map(({ id }) => id))]

/** As PostgreSQL writes it. */
const canonical = (id: string): string => (id.startsWith('0') ? String(BigInt(id)) : id)
