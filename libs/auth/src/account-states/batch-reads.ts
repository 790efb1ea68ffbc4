type Waiter<T> = { key: string; resolve(value: T): void; reject(error: unknown): void }

/** Joins the reads of one event loop turn to save round trips. `readMany` keeps the order of its keys. */
export function batchReads<T>(readMany: (keys: string[]) => Promise<T[]>): (key: string) => Promise<T> {
  let waiters: Waiter<T>[] = []

  async function read(): Promise<void> {
    const batch = waiters
    waiters = []
    try {
      const results = await readMany(batch.map(({ key }) => key))
      for (const [index, result] of results.entries()) batch[index]?.resolve(result)
    } catch (error) {
      for (const waiter of batch) waiter.reject(error)
    }
  }

  return (key) =>
    new Promise((resolve, reject) => {
      if (waiters.length === 0) setImmediate(() => void read())
      waiters.push({ key, resolve, reject })
    })
}
