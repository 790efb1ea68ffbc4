/** Whose token it is, read without verifying: only good for telling one's own tokens apart. Null when unreadable. */
export function readTokenUserId(token: string): string | null {
  try {
    const payload = token.split('.')[1] ?? ''
    const claims: unknown = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/')))
    if (typeof claims !== 'object' || claims === null || !('userId' in claims)) return null
    return typeof claims.userId === 'string' ? claims.userId : null
  } catch {
    return null
  }
}
