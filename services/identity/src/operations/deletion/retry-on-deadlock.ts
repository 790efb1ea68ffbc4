import type { EntityManager, MikroORM } from '@mikro-orm/postgresql'
import { policy } from '../../policy.ts'

const deadlockDetected = '40P01'

/**
 * Runs a transaction, and again a few times when PostgreSQL ended it to break a deadlock. Tombstones lock in one order
 * among themselves; writers of other services have orders of their own.
 */
export async function retryOnDeadlock<T>(
  orm: MikroORM,
  transaction: (em: EntityManager) => Promise<T>,
  retries: number = policy.deadlockRetries,
): Promise<T> {
  try {
    return await orm.em.fork().transactional(transaction)
  } catch (error) {
    if (retries === 0 || !isDeadlock(error)) throw error
    return await retryOnDeadlock(orm, transaction, retries - 1)
  }
}

function isDeadlock(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === deadlockDetected
}
