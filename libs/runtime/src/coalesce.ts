type Load<T> = (keys: readonly string[]) => Promise<readonly (readonly [key: string, value: T])[]>
type PendingLoad<T> = { keys: Set<string>; values: Promise<Map<string, T>> }

/**
 * A call during a load waits for the next one, so nothing was read before the call. A load takes `most` keys; several run at
 * once. Undefined: `load` left the key out.
 */
export function coalesce<T>(load: Load<T>, most: number): (key: string) => Promise<T | undefined> {
  let pending: PendingLoad<T> | undefined
  let underWay: Promise<unknown> = Promise.resolve()

  function schedule(): PendingLoad<T> {
    const keys = new Set<string>()
    const values = underWay.then(async () => {
      pending = undefined
      const all = [...keys]
      const parts = Array.from({ length: Math.ceil(all.length / most) }, (_, n) => all.slice(n * most, (n + 1) * most))
      return new Map((await Promise.all(parts.map(load))).flat())
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
