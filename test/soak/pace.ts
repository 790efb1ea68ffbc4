/** How fast people come, live and leave, and how often the system is measured. */
export type Pace = {
  runMs: number
  lifeMs: number
  arrivalMs: number
  readMs: number
  sampleMs: number
  warmUpMs: number
}

const clamp = (value: number, least: number, most: number) => Math.min(Math.max(value, least), most)

/** Some 20 people at a time in a long run, which takes some 15 % of a core. No account exists for longer than a tenth of the run. */
export function paceOf(hours: number): Pace {
  const runMs = hours * 3_600_000
  const lifeMs = clamp(runMs / 10, 6_000, 600_000)
  return {
    runMs,
    lifeMs,
    arrivalMs: clamp(lifeMs / 12, 2_000, 30_000),
    readMs: clamp(lifeMs / 10, 2_000, 20_000),
    sampleMs: clamp(runMs / 120, 500, 60_000),
    // Of long runs what hourly tasks remove has reached its level.
    warmUpMs: Math.max(2 * lifeMs, runMs / 5),
  }
}

/** Each person has a client network, which another one gets only after so many. */
export const networks = 4_096

export const networkOf = (index: number): string =>
  `198.18.${Math.floor((index % networks) / 250)}.${1 + ((index % networks) % 250)}`
