const steps: ReadonlyArray<readonly [unit: Intl.RelativeTimeFormatUnit, ms: number]> = [
  ['year', 31_557_600_000],
  ['month', 2_629_800_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
]

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const absolute = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' })
const day = new Intl.DateTimeFormat('en', { dateStyle: 'long' })

/** A time (ms) as a person would say it from `now` (ms): "in 3 days", "5 minutes ago", "just now". */
export function sayMoment(at: number, now: number): string {
  const step = steps.find(([, ms]) => Math.abs(at - now) >= ms)
  if (!step) return at > now ? 'in a moment' : 'just now'
  return relative.format(Math.round((at - now) / step[1]), step[0])
}

/** A time (ms) in full, in the reader's time zone. */
export function sayDate(at: number): string {
  return absolute.format(at)
}

/** The day of a time (ms), in the reader's time zone. */
export function sayDay(at: number): string {
  return day.format(at)
}

/** A time (ms) as the value of a datetime-local input, in the reader's time zone, and back. */
export function toLocalInput(at: number): string {
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

export function fromLocalInput(value: string): number | null {
  return value === '' ? null : new Date(value).getTime()
}

/** Seconds as a countdown: "0:09", "1:30". */
export function sayCountdown(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
