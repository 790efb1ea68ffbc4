import type { ClientClock } from '../src/platform.ts'

export type FakeClock = ClientClock & {
  /** Moves the time, runs the timers that are due in order, and awaits what follows from each. */
  advance(ms: number): Promise<void>
  /** The number of pending timers. */
  pending(): number
}

/** Awaits all pending promises and fake responses. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

/** A clock that a test moves. */
export function createFakeClock(): FakeClock {
  const timers = new Map<number, { at: number; run: () => void }>()
  let now = 1_000_000
  let lastId = 0
  const findDue = (until: number) =>
    [...timers].filter(([, { at }]) => at <= until).sort(([idA, a], [idB, b]) => a.at - b.at || idA - idB)[0]
  return {
    now: () => now,
    setTimeout: (run, ms) => {
      lastId += 1
      timers.set(lastId, { at: now + ms, run })
      return lastId
    },
    clearTimeout: (timer) => void timers.delete(timer as number),
    pending: () => timers.size,
    advance: async (ms) => {
      const until = now + ms
      await settle()
      for (let due = findDue(until); due; due = findDue(until)) {
        const [id, { at, run }] = due
        timers.delete(id)
        now = Math.max(now, at)
        run()
        await settle()
      }
      now = until
    },
  }
}
