const minCharacters = 8
const maxBytes = 72

/** What the server would refuse in a new password, or null. Contract: 1, passwords. */
export function findPasswordProblem(password: string): string | null {
  if ([...password].length < minCharacters) return `Use at least ${minCharacters} characters.`
  if (new TextEncoder().encode(password).length > maxBytes) return `Use at most ${maxBytes} bytes; this is longer.`
  return null
}
