const deadlockDetected = '40P01'

/**
 * Runs a transaction again, at most twice, when Postgres ended it to break a deadlock. Tombstones lock in one order among
 * themselves; writers of other services have orders of their own.
 */
export async function repeatOnDeadlock<T>(transaction: () => Promise<T>, repeats = 2): Promise<T> {
  try {
    return await transaction()
  } catch (error) {
    if (repeats === 0 || !isDeadlock(error)) throw error
    return await repeatOnDeadlock(transaction, repeats - 1)
  }
}

function isDeadlock(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === deadlockDetected
}
