import { inOneLine, limits } from '@gatehouse/contracts'

const greatestId = 2n ** 63n - 1n
/** What both a date of JavaScript and a time of PostgreSQL can hold, in years of four digits. */
const greatestTimeMs = 253_402_300_799_999
const leastTimeMs = -62_135_596_800_000

/** A text that PostgreSQL can store: without NUL and lone surrogates. Of other types only bytes and numbers become text. */
export function readText(value: unknown): string | null {
  if (value instanceof Uint8Array) return readText(Buffer.from(value).toString('utf8'))
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'bigint') return null
  return String(value).replaceAll('\0', '').toWellFormed()
}

/** A text that stands in one line; null when nothing is left. Contract: 3, names in a line. */
export const readName = (value: unknown): string | null => inOneLine(readText(value) ?? '').trim() || null

/** Whether a text lost something by `readText`. */
export const isChangedText = (value: unknown): boolean => typeof value === 'string' && readText(value) !== value

export function readInteger(value: unknown): bigint | null {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number' && Number.isFinite(value)) return BigInt(Math.trunc(value))
  const text = readText(value)?.trim() ?? ''
  return /^-?[0-9]{1,30}$/.test(text) ? BigInt(text) : null
}

export const readFlag = (value: unknown): boolean => (readInteger(value) ?? 0n) !== 0n

/** A sound id: a decimal number of 64 bits without leading zeros; else null. */
export function readId(value: unknown): string | null {
  const text = readText(value) ?? ''
  return /^[1-9][0-9]{0,18}$/.test(text) && BigInt(text) <= greatestId ? text : null
}

/** A time in milliseconds; of one in seconds, or of none, the id holds the true one. */
export function readTime(value: unknown, id: string): number {
  const ms = readOptionalTime(value)
  const isWhole = ms !== null && !(ms > 1e9 && ms < 1e11)
  return isWhole ? ms : Number((BigInt(id) >> 22n) + BigInt(limits.idEpochMs))
}

/** A time in milliseconds within what can be stored; text is read as UTC. */
export function readOptionalTime(value: unknown): number | null {
  const text = readText(value) ?? ''
  const ms = Number(readInteger(value) ?? Date.parse(/[zZ]|[+-]\d\d:?\d\d$/.test(text) ? text : `${text}Z`))
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, leastTimeMs), greatestTimeMs)
}

export const isBeyondTime = (value: unknown): boolean => Number(readInteger(value) ?? 0n) > greatestTimeMs

/** As PostgreSQL reads it. */
export const timestamp = (ms: number): string => new Date(ms).toISOString()
export const readTimestamp = (value: unknown, id: string): string => timestamp(readTime(value, id))

export function readOptionalTimestamp(value: unknown): string | null {
  const ms = readOptionalTime(value)
  return ms === null ? null : timestamp(ms)
}

export const clamp = (value: bigint, least: bigint, most: bigint): bigint =>
  value < least ? least : value > most ? most : value
