import type { EntityManager } from '@mikro-orm/postgresql'
import type { Pool, PoolClient } from 'pg'

const pools = new WeakMap<object, Pool>()

export function assertNoTransaction(em: EntityManager): void {
  if (em.isInTransaction())
    throw new Error('a read on a connection of its own would not see what the transaction has changed')
}

/** Throws inside a transaction. */
export async function poolOf(em: EntityManager): Promise<Pool> {
  assertNoTransaction(em)
  const connection = em.getConnection()
  const known = pools.get(connection)
  if (known) return known
  const pool = await connection.getNativeClient()
  pools.set(connection, pool)
  return pool
}

/** A failure of `work` closes the connection. */
export async function withConnection<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  try {
    const result = await work(client)
    client.release()
    return result
  } catch (error) {
    client.release(true)
    throw error
  }
}
