import { countCodePoints, fitsHash, limits } from '@gatehouse/contracts/constants'
import { t } from '../language/language.ts'

/** Why the server would refuse a new password, or null. Contract: 1, passwords. */
export function findPasswordProblem(password: string): string | null {
  if (countCodePoints(password) < limits.passwordMinCodePoints) {
    return t('Use at least {count} characters.', { count: limits.passwordMinCodePoints })
  }
  if (!fitsHash(password))
    return t('This password is too long. Use at most {count} characters, or fewer with emoji or accented letters.', {
      count: limits.passwordMaxBytes,
    })
  return null
}
