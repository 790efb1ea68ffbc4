import { z } from 'zod'
import { limits } from './limits.ts'
import { countCodePoints, text } from './text.ts'

/** Whether bcrypt reads the whole of it. Contract: 1. */
export function fitsHash(password: string): boolean {
  return new TextEncoder().encode(password).length <= limits.passwordMaxBytes
}

/** A password somebody chooses: 8 characters or more, 72 bytes or fewer. Spec: Registration; Contract: 1. */
export function newPassword(name: 'password' | 'newPassword') {
  return text(name)
    .refine((value) => countCodePoints(value) >= limits.passwordMinCodePoints, {
      error: `Password must be at least ${limits.passwordMinCodePoints} characters`,
    })
    .refine(fitsHash, { error: `Password must be at most ${limits.passwordMaxBytes} bytes` })
}

/** A password somebody proves: any text, an overlong one is simply wrong. Contract: 1. */
export function provenPassword(name: 'password' | 'currentPassword') {
  return z.string({
    error: (issue) => (issue.input === undefined ? `${name} is required` : `${name} must be a string`),
  })
}
