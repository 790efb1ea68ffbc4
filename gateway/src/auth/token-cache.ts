import { verifyToken, type TokenClaims, type TokenKey } from '@gatehouse/auth'
import { LRUCache } from 'lru-cache'

/** The last caller token of a bearer token, or its last statement for an upstream, and what it was signed for. */
export type SignedCaller = {
  token: string
  userId: string
  address: string
  stateVersion: number
  reuseUntil: number
}

/** A bearer token whose signature is valid. */
export type CachedToken = {
  readonly claims: TokenClaims
  signedCaller: SignedCaller | undefined
  /** The last statement for each upstream. */
  statements?: Map<string, SignedCaller>
}

export type TokenCache = {
  /** Undefined for a token that is invalid or expired at `now`, in milliseconds. */
  verifyCached(token: string, now: number): CachedToken | undefined
}

/**
 * Caches the result of verifying a signature, the most expensive step of a request. Nothing else is cached: expiry is
 * checked each time, and the account's state by the caller.
 */
export function createTokenCache(key: TokenKey, capacity: number): TokenCache {
  const tokens = new LRUCache<string, CachedToken>({ max: capacity })
  return {
    verifyCached: (token, now) => {
      const cached = tokens.get(token)
      if (cached) return cached.claims.exp > Math.floor(now / 1000) ? cached : undefined
      const claims = verifyToken(key, token, now)
      if (!claims) return undefined
      const verified: CachedToken = { claims, signedCaller: undefined }
      tokens.set(token, verified)
      return verified
    },
  }
}
