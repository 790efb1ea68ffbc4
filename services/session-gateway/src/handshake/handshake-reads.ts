import { coalesceLoads, maxBearerTokenLength } from '@gatehouse/auth'
import { maxTokensPerCall, readTokenClaims } from '@gatehouse/contracts'
import { read } from '@gatehouse/database'
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

export type PeeringReader = ReturnType<typeof createPeeringReader>

/** Handshakes of a short time share one read. */
export function createPeeringReader({ orm, timer, timings }: Pick<OperationContext, 'orm' | 'timer' | 'timings'>) {
  let latest: { summary: Promise<PeeringSummary>; readAt: number } | undefined
  return {
    async read(): Promise<PeeringSummary> {
      const now = timer.now()
      if (!latest || now - latest.readAt >= timings.peeringSummaryMs) {
        const reading = { summary: readPeeringSummary({ orm }), readAt: now }
        latest = reading
        reading.summary.catch(() => {
          if (latest === reading) latest = undefined
        })
      }
      return await latest.summary
    },
  }
}

/** Contract: 6, `ready`. */
export type PeeringSummary = Awaited<ReturnType<typeof readPeeringSummary>>

type Row = { origin: string | null; status: 'active' | 'rejected' | 'awaiting_approval'; pending: number }

async function readPeeringSummary({ orm }: Pick<OperationContext, 'orm'>) {
  const rows = await read<Row>(
    orm.em.fork(),
    `select origin, status, pending
     from (select count(*)::int as pending from approval_requests where status = 'pending') as requests
     left join peers on status in ('active', 'rejected', 'awaiting_approval') order by peers.id`,
  )
  const originsOf = (status: Row['status']) => rows.flatMap((row) => (row.status === status ? (row.origin ?? []) : []))
  return {
    activePeerOrigins: originsOf('active'),
    rejectedPeerOrigins: originsOf('rejected'),
    awaitingApprovalPeerOrigins: originsOf('awaiting_approval'),
    pendingApprovalCount: rows[0]?.pending ?? 0,
  }
}
