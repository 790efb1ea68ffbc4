type Waiter<T> = { resolve(value: T): void; reject(error: unknown): void }

/**
 * Makes one question of all that are asked in one turn of the event loop, which costs a fraction of asking each: under
 * load most of a cache read is the asking. `readMany` answers in the order of its keys.
 */
export function gatherReads<T>(readMany: (keys: string[]) => Promise<T[]>): (key: string) => Promise<T> {
  let keys: string[] = []
  let waiters: Waiter<T>[] = []

  async function ask(): Promise<void> {
    const asked = waiters
    const askedKeys = keys
    keys = []
    waiters = []
    try {
      const answers = await readMany(askedKeys)
      for (const [place, waiter] of asked.entries()) waiter.resolve(answers[place]!)
    } catch (error) {
      for (const waiter of asked) waiter.reject(error)
    }
  }

  return (key) =>
    new Promise((resolve, reject) => {
      if (keys.length === 0) setImmediate(() => void ask())
      keys.push(key)
      waiters.push({ resolve, reject })
    })
}
