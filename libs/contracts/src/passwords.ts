import { z } from 'zod'
import * as limits from './constants/limits.ts'
import { countCodePoints, fitsHash } from './constants/text.ts'
import { describeType, text } from './text.ts'

/** At least 8 characters, at most 72 bytes. Spec: Registration; Contract: 1. */
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

/** Any text: an overlong one is simply wrong. Contract: 1. */
export function passwordAttempt(name: 'password' | 'currentPassword') {
  return z.string({ error: ({ input }) => describeType(name, input) })
}
