import { createSecretKey, type KeyObject } from 'node:crypto'
import jwt from 'jsonwebtoken'
import { maxBearerTokenLength } from '../policy.ts'

export type TokenKey = { readonly use: 'bearer'; readonly signing: KeyObject; readonly verifying: readonly KeyObject[] }

/** Times in seconds since the epoch. Spec: Token payload. */
export type TokenClaims = { userId: string; username: string; iat: number; exp: number }
type Subject = { userId: string; username: string }

/** Key objects verify at a quarter of the cost of text. Spec: Bearer tokens; Contract: 8, settings, JWT_SECRET_PREVIOUS. */
export function createTokenKey(secret: string, previous: readonly string[] = []): TokenKey {
  const toKey = (text: string): KeyObject => createSecretKey(Buffer.from(text, 'utf8'))
  const signing = toKey(secret)
  return { use: 'bearer', signing, verifying: [signing, ...previous.map(toKey)] }
}

/** `expiresIn` as in JWT_EXPIRES_IN (`30d`), `now` in milliseconds. Spec: Token payload. */
export function signToken(key: TokenKey, subject: Subject, options: { expiresIn: string; now: number }): string {
  const payload = { userId: subject.userId, username: subject.username, iat: Math.floor(options.now / 1000) }
  return jwt.sign(payload, key.signing, { algorithm: 'HS256', expiresIn: options.expiresIn as `${number}d` })
}

/** HS256 only. Undefined for an invalid or expired token. */
export function verifyToken(key: TokenKey, token: string, now: number): TokenClaims | undefined {
  if (token.length > maxBearerTokenLength) return undefined
  for (const verifying of key.verifying) {
    try {
      const claims = jwt.verify(token, verifying, { algorithms: ['HS256'], clockTimestamp: Math.floor(now / 1000) })
      if (isClaims(claims)) return claims
    } catch {
      // Another key may fit.
    }
  }
  return undefined
}

/** What services can read of a caller too. */
const isSeconds = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0

/** No instance signed a token without one of these. Without `iat`, no change of the password could revoke it. docs/contract.md 9. */
function isClaims(claims: unknown): claims is TokenClaims {
  if (typeof claims !== 'object' || claims === null) return false
  const { userId, username, iat, exp } = claims as Partial<Record<keyof TokenClaims, unknown>>
  const isNamed = typeof userId === 'string' && /^[0-9]{1,19}$/.test(userId) && typeof username === 'string'
  return isNamed && isSeconds(iat) && isSeconds(exp)
}
