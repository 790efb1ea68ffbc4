import { signCaller, type Caller, type SigningKeys } from '@gatehouse/auth'
import type { ServiceName } from '@gatehouse/contracts'
import type { Clock } from '@gatehouse/runtime'
import { LRUCache } from 'lru-cache'
import { policy } from '../policy.ts'

/** For one service or upstream. Design: invariant 6. */
export type CallerSigner = {
  sign(caller: Caller): string
}

export type CallerSigners = ReturnType<typeof createCallerSigners>

type Options = { keys: SigningKeys; issuer: string; clock: Pick<Clock, 'now'> }

/** Signing and verifying cost more than the rest of a request: callers without an account are reused here, others with their token. */
export function createCallerSigners({ keys, issuer, clock }: Options) {
  function createSigner(audience: string, tellsTokenIssue: boolean): CallerSigner {
    const ofAddresses = new LRUCache<string, { token: string; reuseUntil: number }>({ max: policy.cachedStatements })

    function signAnonymous(address: string, now: number): string {
      const last = ofAddresses.get(address)
      if (last && last.reuseUntil > now) return last.token
      const token = signCaller(keys, { address, account: null }, { issuer, audience, now })
      ofAddresses.set(address, { token, reuseUntil: now + policy.callerTokenReuseMs })
      return token
    }

    return {
      sign: ({ address, account, upstream }) => {
        const now = clock.now()
        if (upstream) return signCaller(keys, { address, account: null, upstream }, { issuer, audience, now })
        if (!account) return signAnonymous(address, now)
        const stated = tellsTokenIssue ? account : { ...account, tokenIssuedAt: undefined }
        return signCaller(keys, { address, account: stated }, { issuer, audience, now })
      },
    }
  }

  return {
    forService: (name: ServiceName) => createSigner(name, true),
    forUpstream: (name: string) => createSigner(name, false),
  }
}
