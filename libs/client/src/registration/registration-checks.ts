export type RegistrationEntry = { username: string; password: string; confirmation: string }
/** What to say beside each field; no key, no problem. */
export type RegistrationProblems = Partial<Record<keyof RegistrationEntry, string>>

const usernameMin = 3
const usernameMax = 32
const usernamePattern = /^[a-z0-9_]+$/
/** The form's own minimum; the server asks for 8 and says so. */
const passwordMin = 6

/** The name as the server will store it. */
export function normalizeUsername(typed: string): string {
  return typed.trim().toLowerCase()
}

/** What is wrong with a local username, or null. Spec: Client session behaviour, registration page. */
export function findUsernameProblem(typed: string): string | null {
  const username = normalizeUsername(typed)
  if (username.length < usernameMin || username.length > usernameMax) {
    return `Use ${usernameMin} to ${usernameMax} characters`
  }
  if (!usernamePattern.test(username)) return 'Use only letters a to z, digits and underscores'
  return null
}

/** The checks of the first registration step. Spec: Client session behaviour, registration page. */
export function findRegistrationProblems(entry: RegistrationEntry): RegistrationProblems {
  const problems: RegistrationProblems = {}
  const username = findUsernameProblem(entry.username)
  if (username) problems.username = username
  if ([...entry.password].length < passwordMin) problems.password = `Use at least ${passwordMin} characters`
  if (entry.password !== entry.confirmation) problems.confirmation = 'The passwords do not match'
  return problems
}
