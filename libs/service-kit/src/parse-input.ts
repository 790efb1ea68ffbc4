import { commonErrors } from '@gatehouse/runtime'
import type { z } from 'zod'

/** Input as its schema reads it. Throws invalid_input with the first fault, in words for a person. Contract: 1. */
export function parseInput<S extends z.ZodType>(schema: S, input: unknown): z.infer<S> {
  const parsed = schema.safeParse(input)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const message = issue?.message ?? 'Invalid input'
  const place = issue?.path.join('.') ?? ''
  const named = place === '' || message.toLowerCase().startsWith(place.split('.')[0]!.toLowerCase())
  throw commonErrors.invalid_input({ message: named ? message : `${place}: ${message}` })
}
