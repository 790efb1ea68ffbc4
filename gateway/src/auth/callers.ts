import { signCaller, verifyToken } from '@gatehouse/auth'
import type { AskingUpstream, SigningKeys, TokenClaims, TokenKey } from '@gatehouse/auth'
import type { UpstreamRight } from '@gatehouse/contracts'
import { entryLimit, refuse, type Clock } from '@gatehouse/runtime'
import { createStatementVerifier, type UpstreamsWatch } from '@gatehouse/upstreams'
import { LRUCache } from 'lru-cache'
import type { CallerSigner } from '../http/route-target.ts'
import { policy } from '../policy.ts'

export type CallerSigners = ReturnType<typeof createCallerSigners>
type SignerOptions = { keys: SigningKeys; issuer: string; clock: Pick<Clock, 'now'> }

/** Signing and verifying cost more than the rest of a request: callers without an account are reused here, others with their token. */
export function createCallerSigners({ keys, issuer, clock }: SignerOptions) {
  function createSigner(audience: string, tellsTokenIssue: boolean): CallerSigner {
    const ofAddresses = new LRUCache<string, { token: string; reuseUntil: number }>(entryLimit(policy.cachedStatements))
    return {
      sign: ({ address, account, upstream }) => {
        const options = { issuer, audience, now: clock.now() }
        if (upstream) return signCaller(keys, { address, account: null, upstream }, options)
        if (account) {
          const visibleAccount = tellsTokenIssue ? account : { ...account, tokenIssuedAt: undefined }
          return signCaller(keys, { address, account: visibleAccount }, options)
        }
        const last = ofAddresses.get(address)
        if (last && last.reuseUntil > options.now) return last.token
        const token = signCaller(keys, { address, account: null }, options)
        ofAddresses.set(address, { token, reuseUntil: options.now + policy.callerTokenReuseMs })
        return token
      },
    }
  }
  return {
    forService: (name: string) => createSigner(name, true),
    forUpstream: (name: string) => createSigner(name, false),
  }
}

/** What a service is told about the caller. `userId` is empty without a token. `upstream` is a name. */
export type SignedCaller = { token: string; userId: string; upstream?: string }
type ReusableCaller = SignedCaller & { signer: object; address: string; stateVersion: number; reuseUntil: number }

/** `callers`: the last one of each signer. */
export type CachedToken = { readonly claims: TokenClaims; readonly callers: ReusableCaller[] }
export type TokenCache = ReturnType<typeof createTokenCache>

/** Only the signature check is cached. Expiry is checked each time. The caller checks the account. */
export function createTokenCache(key: TokenKey, capacity: number) {
  const tokens = new LRUCache<string, CachedToken>(entryLimit(capacity))
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

export type UpstreamCallers = ReturnType<typeof createUpstreamCallers>
type UpstreamOptions = { watch: UpstreamsWatch; audience: string; clock: Pick<Clock, 'now'> }

/** By the file as it was read last: what it no longer names is dead at once. Contract: 3, upstreams. */
export function createUpstreamCallers({ watch, audience, clock }: UpstreamOptions) {
  let verify = createStatementVerifier(watch.current, audience)
  watch.onChange((upstreams) => void (verify = createStatementVerifier(upstreams, audience)))
  return {
    /** Throws statement_invalid, statement_stale, right_missing. */
    judge: (authorization: string | undefined, right: UpstreamRight | undefined): AskingUpstream => {
      // A scheme of its own: neither is taken for the token of a user, nor such a token for a statement.
      const [, statement = ''] = /^upstream +(\S+)$/i.exec(authorization ?? '') ?? []
      const verdict = verify(statement, clock.now())
      if (verdict === 'invalid') throw refuse.statement_invalid()
      if (verdict === 'stale') throw refuse.statement_stale()
      if (!right || !verdict.rights.includes(right)) throw refuse.right_missing()
      return verdict
    },
  }
}
