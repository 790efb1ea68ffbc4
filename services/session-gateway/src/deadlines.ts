/** Items that each expire the same time after they were added, unless they are taken out before. */
export type Deadlines<T> = {
  /** Starts, or starts anew, the time of an item. */
  add(item: T): void
  delete(item: T): boolean
  has(item: T): boolean
  readonly size: number
  /** Forgets all. */
  stop(): void
}

type Timer = { now(): number; set(run: () => void, ms: number): unknown; clear(timer: unknown): void }

const systemTimer: Timer = {
  now: () => Math.round(performance.now()),
  set: (run, ms) => setTimeout(run, ms).unref(),
  clear: (timer) => clearTimeout(timer as NodeJS.Timeout),
}

/** Items that expire within this time share one wake-up, in milliseconds: late by that much at most. */
const resolutionMs = 20

/**
 * One timer for any number of items: they expire in the order in which they were added, so only the first has to be
 * watched. `expire` may add the item again.
 */
export function createDeadlines<T>(afterMs: number, expire: (item: T) => void, timer = systemTimer): Deadlines<T> {
  const dueAt = new Map<T, number>()
  let pending: unknown

  function wake(): void {
    pending = undefined
    const now = timer.now()
    for (const [item, due] of dueAt) {
      if (due > now) break
      dueAt.delete(item)
      expire(item)
    }
    watchFirst()
  }

  function watchFirst(): void {
    if (pending !== undefined) return
    for (const due of dueAt.values()) {
      pending = timer.set(wake, Math.max(due - timer.now(), resolutionMs))
      return
    }
  }

  return {
    add(item) {
      dueAt.delete(item)
      dueAt.set(item, timer.now() + afterMs)
      watchFirst()
    },
    delete: (item) => dueAt.delete(item),
    has: (item) => dueAt.has(item),
    get size() {
      return dueAt.size
    },
    stop() {
      dueAt.clear()
      timer.clear(pending)
      pending = undefined
    },
  }
}
