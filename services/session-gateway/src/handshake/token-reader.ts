import { coalesceLoads, maxBearerTokenLength } from '@gatehouse/auth'
import { maxTokensPerCall, readTokenClaims } from '@gatehouse/contracts'
import { LRUCache } from 'lru-cache'
import type { OperationContext } from '../context.ts'
import { policy } from '../policy.ts'
import type { Claims } from '../sessions/session-registry.ts'

type TokenClaims = Claims & { readonly userId: string }

export type TokenReader = ReturnType<typeof createTokenReader>

/** Identity verifies a token once. What it refused is not remembered. docs/decisions/token-claims.md. */
export function createTokenReader(
  { bus, clock, timings }: Pick<OperationContext, 'bus' | 'clock' | 'timings'>,
  capacity: number = policy.rememberedTokens,
) {
  const remembered = new LRUCache<string, TokenClaims>({ max: capacity })
  const ask = coalesceLoads(async (tokens) => {
    const { claims } = await bus.request(readTokenClaims, { tokens: [...tokens] }, { timeoutMs: timings.tokenReadMs })
    return tokens.map((token, index) => [token, claims[index]] as const)
  }, maxTokensPerCall)
  return {
    /** Undefined: invalid or expired. Rejects with `BusUnavailable` where identity does not answer. */
    async read(token: string): Promise<TokenClaims | undefined> {
      if (token.length > maxBearerTokenLength) return undefined
      const known = remembered.get(token)
      if (known) return known.exp > Math.floor(clock.now() / 1000) ? known : undefined
      const claims = await ask(token)
      if (claims) remembered.set(token, claims)
      return claims ?? undefined
    },
  }
}
