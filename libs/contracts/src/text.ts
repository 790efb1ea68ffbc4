import { z } from 'zod'
import * as limits from './constants/limits.ts'
import { countCodePoints, fitsHash, inOneLine, isStorableText } from './constants/text.ts'

/** The description of the API names it. */
export const namedObject = <Shape extends z.ZodRawShape>(id: string, shape: Shape) => z.object(shape).meta({ id })

export function shapeOf<const N extends string, S>(names: readonly N[], schemaOf: (name: N) => S): Record<N, S> {
  return Object.fromEntries(names.map((name) => [name, schemaOf(name)])) as Record<N, S>
}

/** Any text. For one that is a text other faults have their own messages. */
export function anyText(name: string) {
  const describe = (input: unknown) => (input === undefined ? `${name} is required` : `${name} must be a string`)
  return z.string({ error: ({ input }) => (typeof input === 'string' ? undefined : describe(input)) })
}

export function text(name: string) {
  return anyText(name).refine(isStorableText, {
    error: `${name} contains characters that are not allowed`,
    params: { reason: 'characters' },
  })
}

/** `max` in code points. `lines`: of one, whatever would break or turn it is removed. */
export function trimmedText(name: string, max: number, lines: 'one' | 'many' = 'many') {
  return text(name)
    .overwrite((value) => (lines === 'one' ? inOneLine(value) : value).trim())
    .refine((value) => countCodePoints(value) <= max, {
      error: `${name} must be at most ${max} characters`,
      params: { reason: 'too_long', max },
    })
    .meta({ maxLength: max })
}

/** In one line, and not empty. */
export function requiredText(name: string, max: number) {
  return trimmedText(name, max, 'one')
    .refine((value) => value.length > 0, { error: `${name} is required` })
    .meta({ minLength: 1 })
}

/** Empty means null. */
export function optionalText(name: string, max: number, lines?: 'one' | 'many') {
  return trimmedText(name, max, lines)
    .nullable()
    .transform((value) => value || null)
}

/** 32 bytes: a secret or a token. */
export const hexadecimal = (name: string) =>
  z
    .string({ error: `${name} is required` })
    .regex(/^[0-9a-f]{64}$/, { error: `${name} must be 64 lower-case hexadecimal digits` })

/** A 64-bit Snowflake in decimal. Contract: 1, ids and times. */
export const snowflake = z
  .string({ error: 'id must be a string' })
  .regex(/^[0-9]{1,19}$/, { error: 'id must be a decimal number', abort: true })
  .refine((value) => BigInt(value) <= 9223372036854775807n, { error: 'id is out of range' })

/** Limited to what a Date can hold. */
export const timestampMs = z.number().int().min(-8_640_000_000_000_000).max(8_640_000_000_000_000)

export const idParams = z.object({ id: snowflake })

/** At least 8 characters, at most 72 bytes. Spec: Registration; Contract: 1, passwords. */
export function newPassword(name: 'password' | 'newPassword') {
  return text(name)
    .refine((value) => countCodePoints(value) >= limits.passwordMinCodePoints, {
      error: `Password must be at least ${limits.passwordMinCodePoints} characters`,
      params: { reason: 'too_short', min: limits.passwordMinCodePoints },
    })
    .refine(fitsHash, {
      error: `Password must be at most ${limits.passwordMaxBytes} bytes`,
      params: { reason: 'too_long', max: limits.passwordMaxBytes },
    })
    .meta({ minLength: limits.passwordMinCodePoints, maxLength: limits.passwordMaxBytes })
}

/** Any text: an overlong one is simply wrong. Contract: 1, passwords. */
export const passwordAttempt = anyText('password')
