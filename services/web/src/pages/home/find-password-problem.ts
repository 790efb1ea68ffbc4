import { countCodePoints, fitsHash, limits } from '@gatehouse/contracts/constants'

/** Why the server would refuse a new password, or null. Contract: 1, passwords. */
export function findPasswordProblem(password: string): string | null {
  if (countCodePoints(password) < limits.passwordMinCodePoints) {
    return `Use at least ${limits.passwordMinCodePoints} characters.`
  }
  if (!fitsHash(password)) return `Use at most ${limits.passwordMaxBytes} bytes; this is longer.`
  return null
}
