import { countCodePoints, isLocalUsername, limits, normalizeUsername } from '@gatehouse/contracts/constants'

export type RegistrationEntry = { username: string; password: string; confirmation: string }
export type RegistrationProblems = Partial<Record<keyof RegistrationEntry, string>>

/** As specified for the page. The server's minimum is 8. */
const passwordMin = 6

/** Spec: Client session behaviour, registration page. */
export function findUsernameProblem(typed: string): string | null {
  const username = normalizeUsername(typed)
  if (username.length < limits.localUsernameMin || username.length > limits.localUsernameMax) {
    return `Use ${limits.localUsernameMin} to ${limits.localUsernameMax} characters`
  }
  return isLocalUsername(username) ? null : 'Use only letters a to z, digits and underscores'
}

/** Spec: Client session behaviour, registration page. */
export function findRegistrationProblems(entry: RegistrationEntry): RegistrationProblems {
  const problems: RegistrationProblems = {}
  const username = findUsernameProblem(entry.username)
  if (username) problems.username = username
  if (countCodePoints(entry.password) < passwordMin) problems.password = `Use at least ${passwordMin} characters`
  if (entry.password !== entry.confirmation) problems.confirmation = 'The passwords do not match'
  return problems
}
