import type { EntityManager } from '@mikro-orm/postgresql'
import { assertNoTransaction } from './pool-connections.ts'
import type { PreparedRead } from './prepared-reads.ts'
import { bigintArray } from './rows.ts'

type Waiter<Row> = { id: string; resolve(row: Row | undefined): void; reject(error: unknown): void }

type Batch<Row> = { waiters: Waiter<Row>[]; openedAt: number }

/**
 * How long a batch that waits for a connection is joined. Making one takes seconds on a machine without a free processor;
 * meanwhile another may be free, and a failure is that of few calls.
 */
const joinMs = 20

/**
 * Reads one row by its id, those of all that ask in one turn of the event loop by one statement: under load the round trip
 * costs more than the row. No call gets a row that was read before the call. `read` takes an array of ids as its only
 * value; the ids are numbers as text that PostgreSQL accepts.
 */
export function batchById<Row extends { id: string | number }>(
  read: PreparedRead<Row>,
  limits: { joinMs: number } = { joinMs },
): (em: EntityManager, id: string) => Promise<Row | undefined> {
  /** The batch that further calls join, of each connection pool. */
  const open = new WeakMap<object, Batch<Row>>()
  return async (em, id) => {
    assertNoTransaction(em)
    const connection = em.getConnection()
    return await new Promise((resolve, reject) => {
      const waiter: Waiter<Row> = { id: canonical(id), resolve, reject }
      const now = performance.now()
      const known = open.get(connection)
      if (known && now - known.openedAt < limits.joinMs) return void known.waiters.push(waiter)
      const batch: Batch<Row> = { waiters: [waiter], openedAt: now }
      open.set(connection, batch)
      const close = (): void => {
        if (open.get(connection) === batch) open.delete(connection)
      }
      setImmediate(() => void readBatch(read, em, { waiters: batch.waiters, close }))
    })
  }
}

/** `close` is called when the statement is about to be sent: no call joins it from then on. */
async function readBatch<Row extends { id: string | number }>(
  read: PreparedRead<Row>,
  em: EntityManager,
  { waiters, close }: { waiters: readonly Waiter<Row>[]; close: () => void },
): Promise<void> {
  try {
    const rows = await read(em, () => {
      close()
      return [bigintArray(idsOf(waiters))]
    })
    const byId = new Map(rows.map((row) => [String(row.id), row]))
    for (const { id, resolve } of waiters) resolve(byId.get(id))
  } catch (error) {
    close()
    for (const { reject } of waiters) reject(error)
  }
}

const idsOf = (waiters: readonly { id: string }[]): string[] => [...new Set(waiters.map(({ id }) => id))]

/** As PostgreSQL writes it. */
const canonical = (id: string): string => (id.startsWith('0') ? String(BigInt(id)) : id)
