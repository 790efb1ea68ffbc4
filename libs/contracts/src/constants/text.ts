import * as limits from './limits.ts'

/** Contract: 1. */
export function countCodePoints(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}

/** No NUL, no lone surrogate. Contract: 1. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** bcrypt reads 72 bytes. Contract: 1. */
export function fitsHash(password: string): boolean {
  return new TextEncoder().encode(password).length <= limits.passwordMaxBytes
}
