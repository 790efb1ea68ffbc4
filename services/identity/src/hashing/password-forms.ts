import { fitsHash } from '@gatehouse/contracts/constants'

/** NFC, whose bytes no keyboard changes. In a few scripts NFC is longer: where it does not fit, the text as it came. Contract: 1, Passwords. */
export function hashedForm(password: string): string {
  const composed = password.normalize('NFC')
  return fitsHash(composed) ? composed : password
}

/**
 * Compares the text as it came and, where it has another normal form and does not fit, that one: other software has hashed
 * either. The number of comparisons of a wrong password depends on its text alone. An overlong one never fits, after the
 * same work. Contract: 1, Passwords.
 */
export async function fitsInAForm(password: string, compare: (form: string) => Promise<boolean>): Promise<boolean> {
  const composed = password.normalize('NFC')
  const other = composed === password ? password.normalize('NFD') : composed
  for (const form of new Set([password, other])) {
    const fits = await compare(form)
    if (fits && fitsHash(form)) return true
  }
  return false
}
