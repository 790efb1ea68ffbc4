import type { EntityManager } from '@mikro-orm/postgresql'
import { assertNoTransaction } from './driver.ts'
import type { PreparedRead } from './prepared-reads.ts'
import { bigintArray } from './rows.ts'

type Waiter<Row> = { id: string; resolve(row: Row | undefined): void; reject(error: unknown): void }

type Batch<Row> = { waiters: Waiter<Row>[]; openedAt: number }

/** A new connection may take seconds. A later batch may find a free one. */
const joinMs = 20

/** One statement reads the rows of one turn of the event loop. `read` takes an array of ids, each a number as text. */
export function batchById<Row extends { id: string | number }>(
  read: PreparedRead<Row>,
  limits: { joinMs: number } = { joinMs },
): (em: EntityManager, id: string) => Promise<Row | undefined> {
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

/** `close` runs before the statement is sent: no call joins later. */
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

const canonical = (id: string): string => (id.startsWith('0') ? String(BigInt(id)) : id)
