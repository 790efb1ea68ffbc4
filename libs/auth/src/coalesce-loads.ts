type Load<T> = (keys: readonly string[]) => Promise<readonly (readonly [key: string, value: T])[]>
type PendingLoad<T> = { keys: Set<string>; values: Promise<Map<string, T>> }

/**
 * A call during a load waits for the next one, so nothing was read before the call. A load takes `most` keys; several run at
 * once. Undefined: `load` left the key out.
 */
export function coalesceLoads<T>(load: Load<T>, most: number): (key: string) => Promise<T | undefined> {
  let pending: PendingLoad<T> | undefined
  let underWay: Promise<unknown> = Promise.resolve()

  function schedule(): PendingLoad<T> {
    const keys = new Set<string>()
    const values = underWay.then(async () => {
      pending = undefined
      const loaded = await Promise.all(chunksOf([...keys], most).map(load))
      return new Map(loaded.flat())
    })
    underWay = values.catch(() => undefined)
    return { keys, values }
  }

  return async (key) => {
    pending ??= schedule()
    pending.keys.add(key)
    const { values } = pending
    return (await values).get(key)
  }
}

function chunksOf(keys: readonly string[], size: number): string[][] {
  const count = Math.ceil(keys.length / size)
  return Array.from({ length: count }, (_, index) => keys.slice(index * size, (index + 1) * size))
}
