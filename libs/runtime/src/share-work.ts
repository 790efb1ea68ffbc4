/**
 * Calls for one key share the work that is under way, which may have begun before the call: `coalesce` is for reads that may
 * not be older than their call. Rejects with the error of the work.
 */
export function shareWork<T, Rest extends unknown[]>(work: (key: string, ...rest: Rest) => Promise<T>) {
  const underWay = new Map<string, Promise<T>>()
  return (key: string, ...rest: Rest): Promise<T> => {
    const shared = underWay.get(key) ?? work(key, ...rest).finally(() => underWay.delete(key))
    underWay.set(key, shared)
    return shared
  }
}
