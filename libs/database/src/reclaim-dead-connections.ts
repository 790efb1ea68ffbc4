import type { Pool, PoolClient } from 'pg'

const HOLDER_NOTICES_WITHIN_MS = 1_000

/**
 * Gives the places of connections that died inside a transaction back to the pool. The ORM releases a connection only
 * after a successful commit or rollback, and on a dead one both fail: each would take up its place for good, until the
 * pool is exhausted. For `driverOptions.onPoolCreated`.
 */
export function reclaimDeadConnections(pool: Pool): void {
  const inUse = new Set<PoolClient>()
  pool.on('acquire', (client) => inUse.add(client))
  pool.on('release', (_error, client) => inUse.delete(client))
  pool.on('connect', (client) => {
    client.once('end', () => {
      // Whoever releases it properly does so at once: a second release would throw over the error that tells why.
      setTimeout(() => inUse.has(client) && client.release(true), HOLDER_NOTICES_WITHIN_MS).unref()
    })
  })
}
