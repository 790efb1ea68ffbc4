import type { Clock, Timer } from '@gatehouse/runtime'

export type MovableClock = Clock & { advance(ms: number): void; set(ms: number): void }

/** `start` is in milliseconds since the epoch. */
export function movableClock(start = Date.now()): MovableClock {
  let current = start
  return { now: () => current, advance: (ms) => void (current += ms), set: (ms) => void (current = ms) }
}

export type ManualTimer = Timer & {
  /** Runs what is due within `ms`, in order. */
  advance(ms: number): void
  pending(): number
}

export function manualTimer(): ManualTimer {
  const delays = new Map<object, { dueAt: number; run: () => void }>()
  let now = 0

  function takeNext(until: number): (() => void) | undefined {
    const due = [...delays].filter(([, { dueAt }]) => dueAt <= until)
    const [first] = due.sort(([, one], [, other]) => one.dueAt - other.dueAt)
    if (!first) return undefined
    const [key, { dueAt, run }] = first
    delays.delete(key)
    now = Math.max(now, dueAt)
    return run
  }

  return {
    now: () => now,
    set(run, ms) {
      const key = {}
      delays.set(key, { dueAt: now + ms, run })
      return key
    },
    clear: (pending) => void delays.delete(pending as object),
    pending: () => delays.size,
    advance(ms) {
      const until = now + ms
      for (let run = takeNext(until); run; run = takeNext(until)) run()
      now = until
    },
  }
}
