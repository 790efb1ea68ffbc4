import { z } from 'zod'
import * as limits from './constants/limits.ts'
import { countCodePoints, fitsHash } from './constants/text.ts'
import { describeType, text } from './text.ts'

/** A password that is to be set: 8 characters or more, 72 bytes or fewer. Spec: Registration; Contract: 1. */
export function newPassword(name: 'password' | 'newPassword') {
  return text(name)
    .refine((value) => countCodePoints(value) >= limits.passwordMinCodePoints, {
      error: `Password must be at least ${limits.passwordMinCodePoints} characters`,
    })
    .refine(fitsHash, { error: `Password must be at most ${limits.passwordMaxBytes} bytes` })
}

/** A password to be verified: any text, since an overlong one is simply wrong. Contract: 1. */
export function passwordAttempt(name: 'password' | 'currentPassword') {
  return z.string({ error: ({ input }) => describeType(name, input) })
}
