import type { KeyObject } from 'node:crypto'
import jwt from 'jsonwebtoken'
import { maxBearerTokenLength } from '../policy.ts'
import { createSecretKeys } from './secret-keys.ts'

/** The key that signs, and all that verify: itself first, then the previous ones of a rotation. */
export type TokenKey = { readonly use: 'bearer'; readonly signing: KeyObject; readonly verifying: readonly KeyObject[] }

/** The claims of a token. Times in seconds since the epoch. Spec: Token payload. */
export type TokenClaims = { userId: string; username: string; iat: number; exp: number }

type Subject = { userId: string; username: string }

/**
 * Makes the key once at start: key objects, because verifying with them costs a quarter of verifying with the text.
 * `secret` and each of `previous` have at least 32 characters. Spec: Bearer tokens; Contract: 8, JWT_SECRET_PREVIOUS.
 */
export function createTokenKey(secret: string, previous: readonly string[] = []): TokenKey {
  return { use: 'bearer', ...createSecretKeys(secret, previous) }
}

/** Signs a token for a user; `expiresIn` as in JWT_EXPIRES_IN (`30d`), `now` in milliseconds. Spec: Token payload. */
export function signToken(key: TokenKey, subject: Subject, options: { expiresIn: string; now: number }): string {
  const payload = { userId: subject.userId, username: subject.username, iat: Math.floor(options.now / 1000) }
  return jwt.sign(payload, key.signing, { algorithm: 'HS256', expiresIn: options.expiresIn as `${number}d` })
}

/** The claims of a token that this instance signed and that has not expired, else undefined. HS256 only. */
export function verifyToken(key: TokenKey, token: string, now: number): TokenClaims | undefined {
  if (token.length > maxBearerTokenLength) return undefined
  for (const verifying of key.verifying) {
    const claims = verifyWith(verifying, token, now)
    if (claims) return claims
  }
  return undefined
}

function verifyWith(key: KeyObject, token: string, now: number): TokenClaims | undefined {
  try {
    const claims = jwt.verify(token, key, { algorithms: ['HS256'], clockTimestamp: Math.floor(now / 1000) })
    return isClaims(claims) ? claims : undefined
  } catch {
    return undefined
  }
}

function isClaims(claims: unknown): claims is TokenClaims {
  if (typeof claims !== 'object' || claims === null) return false
  const { userId, username, iat, exp } = claims as Partial<Record<keyof TokenClaims, unknown>>
  return (
    typeof userId === 'string' &&
    /^[0-9]{1,19}$/.test(userId) &&
    typeof username === 'string' &&
    typeof iat === 'number' &&
    typeof exp === 'number'
  )
}
