import type { Timer } from '@gatehouse/runtime'

/** In milliseconds. Items may be late by it. */
const resolutionMs = 20

export type TimeoutSet<T> = ReturnType<typeof createTimeoutSet<T>>

/** Items expire in the order of `add`, so one timer serves all. `expire` may add the item again. */
export function createTimeoutSet<T>(afterMs: number, timer: Timer, expire: (item: T) => void) {
  const dueAt = new Map<T, number>()
  let pending: unknown
  // Whole milliseconds need no heap object.
  const now = () => Math.round(timer.now())

  function watchFirst(): void {
    if (pending !== undefined) return
    const [first] = dueAt.values()
    if (first !== undefined) pending = timer.set(expireDue, Math.max(first - now(), resolutionMs))
  }

  function expireDue(): void {
    pending = undefined
    const before = now()
    for (const [item, due] of dueAt) {
      if (due > before) break
      dueAt.delete(item)
      expire(item)
    }
    watchFirst()
  }

  return {
    add(item: T): void {
      dueAt.delete(item)
      dueAt.set(item, now() + afterMs)
      watchFirst()
    },
    has: (item: T): boolean => dueAt.has(item),
    delete: (item: T): boolean => dueAt.delete(item),
    size: (): number => dueAt.size,
    stop(): void {
      dueAt.clear()
      timer.clear(pending)
      pending = undefined
    },
  }
}
