import * as limits from './limits.ts'

/** A client and a service count alike. Contract: 1, texts. */
export function countCodePoints(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}

/** No NUL, no lone surrogate. Contract: 1, texts. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** A name as it is kept: no directional control, other format character but joiners, or line break; four marks at most on a character. Contract: 3, names in a line. */
export function inOneLine(text: string): string {
  return limitMarks(text.replace(/(?![\u200c\u200d])\p{Cf}|[\n\v\f\r\x85\u2028\u2029]/gu, ''))
}

/** Four on a character at most, whatever joiners stand between them. Contract: 3, names in a line. */
export function limitMarks(text: string): string {
  return text.replace(/(\p{M}(?:[\u200c\u200d]*\p{M}){3})(?:[\u200c\u200d]*\p{M})+/gu, '$1')
}

/** bcrypt reads 72 bytes. Contract: 1, passwords. */
export function fitsHash(password: string): boolean {
  return new TextEncoder().encode(password).length <= limits.passwordMaxBytes
}
