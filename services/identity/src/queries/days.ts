import { limits } from '@gatehouse/contracts'

export const dayMs = 24 * 60 * 60 * 1000

/** When a day (`2026-11-21`) and the one after it begin in a time zone (`Europe/Berlin`). Contract: 5, Days. */
export function boundsOfDay(day: string, timeZone: string): { start: Date; end: Date } {
  const midnight = Date.parse(`${day}T00:00:00Z`)
  return { start: startOf(midnight, timeZone), end: startOf(midnight + dayMs, timeZone) }
}

/** `midnight`: in UTC. A clock that is put forward at midnight begins the day an hour later. */
function startOf(midnight: number, timeZone: string): Date {
  const guesses = [midnight - dayMs, midnight + dayMs].map((time) => midnight - offsetAt(time, timeZone))
  return new Date(guesses.find((time) => time + offsetAt(time, timeZone) === midnight) ?? Math.max(...guesses))
}

/** By how much the clocks of the time zone are ahead of UTC, in ms. */
function offsetAt(time: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat('en', {
    timeZone,
    ...({ era: 'short', year: 'numeric', month: 'numeric', day: 'numeric' } as const),
    ...({ hour: 'numeric', minute: 'numeric', second: 'numeric', hourCycle: 'h23' } as const),
  }).formatToParts(time)
  const part = (type: Intl.DateTimeFormatPartTypes) => Number(parts.find((each) => each.type === type)?.value)
  const shown = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'))
  return shown - Math.floor(time / 1000) * 1000
}

/** Below the milliseconds of an id. Contract: 1, ids and times. */
const bitsBelowTime = 22n

/** The smallest id of that moment (ms since 1970). */
export const firstIdOf = (ms: number): string => String(BigInt(Math.max(0, ms - limits.idEpochMs)) << bitsBelowTime)
