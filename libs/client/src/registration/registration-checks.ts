import { countCodePoints, isLocalUsername, limits, normalizeUsername } from '@gatehouse/contracts/constants'

export type RegistrationEntry = { username: string; password: string; confirmation: string }
/** The message for each field that has a problem. */
export type RegistrationProblems = Partial<Record<keyof RegistrationEntry, string>>

/** The specification's minimum of the registration page; the server's is 8, and its refusal says so. */
const passwordMin = 6

/** What is wrong with a local username, or null. Spec: Client session behaviour, registration page. */
export function findUsernameProblem(typed: string): string | null {
  const username = normalizeUsername(typed)
  if (username.length < limits.localUsernameMin || username.length > limits.localUsernameMax) {
    return `Use ${limits.localUsernameMin} to ${limits.localUsernameMax} characters`
  }
  return isLocalUsername(username) ? null : 'Use only letters a to z, digits and underscores'
}

/** The checks of the first registration step. Spec: Client session behaviour, registration page. */
export function findRegistrationProblems(entry: RegistrationEntry): RegistrationProblems {
  const problems: RegistrationProblems = {}
  const username = findUsernameProblem(entry.username)
  if (username) problems.username = username
  if (countCodePoints(entry.password) < passwordMin) problems.password = `Use at least ${passwordMin} characters`
  if (entry.password !== entry.confirmation) problems.confirmation = 'The passwords do not match'
  return problems
}
