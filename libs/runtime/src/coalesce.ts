/** Without a key that has no value. */
type Values<T> = ReadonlyMap<string, T>
type Batch<T> = { keys: Set<string>; openedAt: number; values: Promise<Values<T>> }

/** Undefined: the batch left the key out. Rejects with the error of its batch. */
export type BatchedCall<T> = (key: string) => Promise<T | undefined>

/**
 * One read for many calls. `close` gives the keys of the batch and ends it: a later call is in the next batch, so nothing
 * was read before the call. After `joinMs` a call does not wait for a batch that is still open. Several run at once.
 */
export function batchCalls<T>(read: (close: () => string[]) => Promise<Values<T>>, joinMs = Infinity): BatchedCall<T> {
  let open: Batch<T> | undefined

  function begin(key: string): Promise<Values<T>> {
    const keys = new Set([key])
    const close = (): string[] => {
      if (open?.keys === keys) open = undefined
      return [...keys]
    }
    const { promise: values, resolve, reject } = Promise.withResolvers<Values<T>>()
    open = { keys, openedAt: performance.now(), values }
    read(close).then(resolve, (error: unknown) => {
      close()
      reject(error)
    })
    return values
  }

  function join(key: string): Promise<Values<T>> | undefined {
    if (!open || performance.now() - open.openedAt >= joinMs) return undefined
    open.keys.add(key)
    return open.values
  }
  return (key) => (join(key) ?? begin(key)).then((values) => values.get(key))
}

type Load<T> = (keys: readonly string[]) => Promise<readonly (readonly [key: string, value: T])[]>
/** A load takes `most` keys, and several run at once. */
type Coalescing = { most?: number; until?: () => Promise<unknown> }

/** A batch is complete when `until` resolves; if it is left out, at the end of the load before. */
export function coalesce<T>(load: Load<T>, { most = Number.MAX_SAFE_INTEGER, until }: Coalescing = {}): BatchedCall<T> {
  let underWay: Promise<unknown> = Promise.resolve()

  async function loadAll(keys: readonly string[]): Promise<Values<T>> {
    const parts = Array.from({ length: Math.ceil(keys.length / most) }, (_, n) => keys.slice(n * most, (n + 1) * most))
    return new Map((await Promise.all(parts.map(load))).flat())
  }
  return batchCalls(async (close) => {
    const values = (until?.() ?? underWay).then(() => loadAll(close()))
    underWay = values.catch(() => undefined)
    return await values
  })
}
