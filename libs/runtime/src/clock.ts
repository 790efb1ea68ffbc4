/** In milliseconds since the Unix epoch. */
export type Clock = { now(): number }

export const systemClock: Clock = { now: () => Date.now() }

export type MovableClock = Clock & { advance(ms: number): void; set(ms: number): void }

/** For tests. `start` is in milliseconds since the epoch. */
export function movableClock(start = Date.now()): MovableClock {
  let current = start
  return {
    now: () => current,
    advance: (ms) => void (current += ms),
    set: (ms) => void (current = ms),
  }
}
