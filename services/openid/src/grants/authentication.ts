/** `authTime` in seconds; null: it is not known. `subject`: by whom the application knows the person. */
type Session = { authTime: number | null; subject: string }
type AuthorizationRequest = { iat: number; params: Record<string, string | number | undefined> }

/**
 * Whether the application demands a login that the session does not stand for: `prompt=login`, `max_age`, `id_token_hint`.
 * OpenID Connect Core, 3.1.2.1.
 */
export function isLoginDue({ iat, params }: AuthorizationRequest, { authTime, subject }: Session): boolean {
  if (params['id_token_hint'] !== undefined && subjectOf(String(params['id_token_hint'])) !== subject) return true
  // The time of the request has no parts of a second: a login of the same one may have been before it.
  if (authTime !== null && authTime > iat) return false
  const prompts = String(params['prompt'] ?? '').split(' ')
  const maxAge = params['max_age'] === undefined ? Infinity : Number(params['max_age'])
  if (prompts.includes('login') || maxAge === 0) return true
  return maxAge !== Infinity && (authTime === null || iat - authTime > maxAge)
}

/** Of a token that the library has verified when the request came. */
function subjectOf(idToken: string): unknown {
  const [, payload = ''] = idToken.split('.')
  return (JSON.parse(Buffer.from(payload, 'base64url').toString()) as { sub?: unknown }).sub
}
