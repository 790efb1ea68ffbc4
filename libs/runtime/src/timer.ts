/** `now` is in milliseconds from any point, and never goes back. */
export type Timer = {
  now(): number
  set(run: () => void, ms: number): unknown
  clear(pending: unknown): void
}

/** A pending delay does not keep the process alive. */
export const systemTimer: Timer = {
  now: () => performance.now(),
  set: (run, ms) => setTimeout(run, ms).unref(),
  clear: (pending) => clearTimeout(pending as NodeJS.Timeout | undefined),
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

export async function delay(timer: Timer, ms: number): Promise<void> {
  await new Promise<void>((resolve) => void timer.set(resolve, ms))
}
