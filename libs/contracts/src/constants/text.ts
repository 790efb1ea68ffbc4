import * as limits from './limits.ts'

/** The length of a text in Unicode code points. Contract: 1. */
export function countCodePoints(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}

/** Whether a text may be stored: no NUL and no lone surrogate. Contract: 1. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** Whether bcrypt reads the whole password. Contract: 1. */
export function fitsHash(password: string): boolean {
  return new TextEncoder().encode(password).length <= limits.passwordMaxBytes
}
