import type { KeyObject } from 'node:crypto'
import jwt from 'jsonwebtoken'
import { maxBearerTokenLength } from '../policy.ts'
import { createSecretKeys } from './secret-keys.ts'

export type TokenKey = { readonly use: 'bearer'; readonly signing: KeyObject; readonly verifying: readonly KeyObject[] }

/** Times in seconds since the epoch. Spec: Token payload. */
export type TokenClaims = { userId: string; username: string; iat: number; exp: number }

type Subject = { userId: string; username: string }

/** Key objects verify at a quarter of the cost of text. Spec: Bearer tokens; Contract: 8, JWT_SECRET_PREVIOUS. */
export function createTokenKey(secret: string, previous: readonly string[] = []): TokenKey {
  return { use: 'bearer', ...createSecretKeys(secret, previous) }
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

/** What services can read of a caller too. */
const isSeconds = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0

function isClaims(claims: unknown): claims is TokenClaims {
  if (typeof claims !== 'object' || claims === null) return false
  const { userId, username, iat, exp } = claims as Partial<Record<keyof TokenClaims, unknown>>
  return (
    typeof userId === 'string' &&
    /^[0-9]{1,19}$/.test(userId) &&
    typeof username === 'string' &&
    isSeconds(iat) &&
    isSeconds(exp)
  )
}
