import { parseUrl } from '@gatehouse/contracts/constants'
import { currentLanguage, formatName, type Language, t } from '../language/language.ts'

const units: ReadonlyArray<readonly [unit: Intl.RelativeTimeFormatUnit, ms: number]> = [
  ['year', 31_557_600_000],
  ['month', 2_629_800_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
]

const createFormats = (language: Language) => ({
  relative: new Intl.RelativeTimeFormat(language, { numeric: 'auto' }),
  dateTime: new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short' }),
  date: new Intl.DateTimeFormat(language, { dateStyle: 'long' }),
  number: new Intl.NumberFormat(language),
})
const cached: Partial<Record<Language, ReturnType<typeof createFormats>>> = {}

const formats = () => (cached[currentLanguage()] ??= createFormats(currentLanguage()))

/** In ms. "in 3 days", "5 minutes ago", "just now". */
export function formatRelativeTime(at: number, now: number): string {
  const unit = units.find(([, ms]) => Math.abs(at - now) >= ms)
  if (!unit) return at > now ? t('in a moment') : t('just now')
  return formats().relative.format(Math.round((at - now) / unit[1]), unit[0])
}

export const formatNumber = (value: number): string => formats().number.format(value)

export const formatDateTime = (at: number): string => formats().dateTime.format(at)

export const formatDate = (at: number): string => formats().date.format(at)

/** Of `2026-11-24`. */
export const formatDay = (day: string): string => formatDate(new Date(`${day}T00:00`).getTime())

/** A time (ms) for a datetime-local input. */
export function toDateTimeInput(at: number): string {
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** The time (ms) of a datetime-local input, or null. */
export const fromDateTimeInput = (value: string): number | null => (value === '' ? null : new Date(value).getTime())

/** "0:09", "1:30". */
export function formatCountdown(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

/** "12 kB", "3.4 MB". */
export function formatBytes(bytes: number): string {
  if (bytes < 1e6) return `${formatNumber(Math.round(bytes / 1e3))} kB`
  return `${formatNumber(Math.round(bytes / 1e5) / 10)} MB`
}

/** A text that is no origin stays unchanged. */
export const hostOf = (origin: string): string => parseUrl(origin)?.host ?? origin

/** The first visible grapheme, or an empty text. */
export function initialOf(name: string): string {
  const shown = formatName(name).replace(/^[\p{Cc}\p{Cf}\p{Z}\p{M}\u115f\u1160\u3164]+/u, '')
  const [first] = new Intl.Segmenter(undefined, { granularity: 'grapheme' }).segment(shown)
  return first?.segment ?? ''
}

export function saveFile(file: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(file)
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}
