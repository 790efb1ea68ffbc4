/** Where delays come from. `now` is in milliseconds from any point in time, and never goes back. */
export type Timer = {
  now(): number
  /** Runs `run` once after `ms`; gives what `clear` takes. */
  set(run: () => void, ms: number): unknown
  clear(pending: unknown): void
}

/** Delays of the process. A pending one does not keep the process alive. */
export const systemTimer: Timer = {
  now: () => performance.now(),
  set: (run, ms) => setTimeout(run, ms).unref(),
  clear: (pending) => clearTimeout(pending as NodeJS.Timeout | undefined),
}

export type ManualTimer = Timer & {
  /** Runs everything that is due within `ms`, in order, each at its own time. */
  advance(ms: number): void
  /** How many delays are pending. */
  pending(): number
}

/** A timer that stands still until a test moves it. */
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

/** Resolves after `ms`. */
export async function delay(timer: Timer, ms: number): Promise<void> {
  await new Promise<void>((resolve) => void timer.set(resolve, ms))
}
