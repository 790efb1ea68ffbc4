import { verifyToken, type TokenClaims, type TokenKey } from '@gatehouse/auth'
import { LRUCache } from 'lru-cache'

/** What a service is told about the caller. `userId` is empty without a token. `upstream` is a name. */
export type SignedCaller = { token: string; userId: string; upstream?: string }

type ReusableCaller = SignedCaller & { signer: object; address: string; stateVersion: number; reuseUntil: number }

export type CachedToken = {
  readonly claims: TokenClaims
  /** The last one of each signer. */
  readonly callers: ReusableCaller[]
}

export type TokenCache = ReturnType<typeof createTokenCache>

/** Only the signature check is cached. Expiry is checked each time. The caller checks the account. */
export function createTokenCache(key: TokenKey, capacity: number) {
  const tokens = new LRUCache<string, CachedToken>({ max: capacity })
  return {
    /** Undefined for an invalid or expired token. `now` is in milliseconds. */
    verifyCached: (token: string, now: number): CachedToken | undefined => {
      const cached = tokens.get(token)
      if (cached) return cached.claims.exp > Math.floor(now / 1000) ? cached : undefined
      const claims = verifyToken(key, token, now)
      if (!claims) return undefined
      const verified: CachedToken = { claims, callers: [] }
      tokens.set(token, verified)
      return verified
    },
  }
}
