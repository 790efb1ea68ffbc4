import { z } from 'zod'
import { countCodePoints, isStorableText } from './constants/text.ts'

/** A text that may be stored; `name` is the field's name in the error message. */
export function text(name: string) {
  return z
    .string({ error: ({ input }) => describeType(name, input) })
    .refine(isStorableText, { error: `${name} contains characters that are not allowed` })
}

/** Undefined for a text, whose other faults have messages of their own: its length, for one. */
export function describeType(name: string, input: unknown): string | undefined {
  if (typeof input === 'string') return undefined
  return input === undefined ? `${name} is required` : `${name} must be a string`
}

/** A text of at most `max` code points after trimming. */
export function trimmedText(name: string, max: number) {
  return text(name)
    .trim()
    .refine((value) => countCodePoints(value) <= max, { error: `${name} must be at most ${max} characters` })
}

/** A trimmed text or null; an empty one is null. */
export function optionalText(name: string, max: number) {
  return trimmedText(name, max)
    .nullable()
    .transform((value) => value || null)
}

/** An id: a 64-bit Snowflake in decimal. Contract: 1. */
export const snowflake = z
  .string({ error: 'id must be a string' })
  .regex(/^[0-9]{1,19}$/, { error: 'id must be a decimal number', abort: true })
  .refine((value) => BigInt(value) <= 9223372036854775807n, { error: 'id is out of range' })

/** Milliseconds since the Unix epoch, within what a Date can hold. */
export const timestampMs = z.number().int().min(-8_640_000_000_000_000).max(8_640_000_000_000_000)

export const idParams = z.object({ id: snowflake })
