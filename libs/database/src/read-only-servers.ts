import type { Pool, PoolClient } from 'pg'
import { readOnlyUseMs } from './policy.ts'

/** Of a connection. Times are those of `performance`. */
export type LimitedUse = {
  /** Where its address led then. It may lead to another server later. */
  readonly madeAt: number
  /** Infinity until the server is read-only, or ends it. */
  usableUntil: number
  /** It is used once, however long it took to make. */
  isNew: boolean
  /** Called when the server reports it, and when it refuses a write. */
  onReadOnly: () => void
}

/**
 * Gives `connect` of the pool. A connection to a read-only server is used for a second, as the server may have been replaced
 * at its address, and so are the others of the pool, which lead to the same server. docs/decisions/availability.md.
 */
export function leaveReadOnlyServers(pool: Pool): () => Promise<PoolClient> {
  const connect = pool.connect.bind(pool) as () => Promise<PoolClient & LimitedUse>
  let usableFrom = -Infinity
  const retireOlder = (): void => void (usableFrom = performance.now() - readOnlyUseMs)
  pool.on('connect', (client) => {
    const connection = client as PoolClient & LimitedUse
    connection.onReadOnly = retireOlder
    if (connection.usableUntil < Infinity) retireOlder()
  })
  return async () => {
    for (;;) {
      const connection = await connect()
      const { isNew, madeAt, usableUntil } = connection
      connection.isNew = false
      if (isNew || (madeAt >= usableFrom && usableUntil > performance.now())) return connection
      connection.release(true)
    }
  }
}
