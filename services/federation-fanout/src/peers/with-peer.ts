import { type ActingAdmin, assertCallerCurrent } from '@gatehouse/authority'
import { peerChanged } from '@gatehouse/contracts'
import { lockName, transaction } from '@gatehouse/database'
import { ApprovalRequest, Peer } from '@gatehouse/domain'
import { enqueue } from '@gatehouse/outbox'
import { refuse } from '@gatehouse/runtime'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { hostOf, normalizeSignedOrigin } from './signature.ts'
import { policy } from '../policy.ts'

export type PeerDeps = Pick<Deps, 'orm' | 'clock' | 'random' | 'relay'>

/** The admin who acts, if one does, and the request that this is part of. */
export type Cause = { actor?: ActingAdmin | null; requestId?: string | undefined }

/**
 * Locks the origin, even without a row. May run more than once: call no other instance here. Changes publish
 * PeerChanged. Throws as `assertCallerCurrent` does. Design: invariants 1, 10.
 */
export async function withPeer<T>(
  deps: PeerDeps,
  { origin, actor = null, requestId }: Cause & { origin: string },
  change: (em: EntityManager, peer: Peer | null) => Promise<T>,
): Promise<T> {
  const result = await transaction(deps.orm, async (em) => {
    if (actor) await assertCallerCurrent(em, actor, { admin: true })
    await lockName(em, `peer ${origin}`)
    const peer = await em.findOne(Peer, { origin }, { lockMode: LockMode.PESSIMISTIC_WRITE })
    const before = await describeOrigin(em, origin)
    const changed = await change(em, peer)
    await em.flush()
    const after = await describeOrigin(em, origin)
    if (after.status !== before.status || after.waiting !== before.waiting) {
      const payload = { at: deps.clock.now(), actor, origin, status: after.status }
      await enqueue(em, peerChanged, payload, { id: deps.random.uuid(), requestId })
    }
    return changed
  })
  deps.relay.notify()
  return result
}

async function describeOrigin(em: EntityManager, origin: string): Promise<{ status: string; waiting: number }> {
  const peer = await em.findOne(Peer, { origin })
  const waiting = await em.count(ApprovalRequest, { sourceOrigin: origin, status: 'pending' })
  return { status: peer?.status ?? 'none', waiting }
}

/** 256 bits, lower-case hex. protocol.md 1.2. */
export function newSecret({ random }: Pick<Deps, 'random'>): string {
  return random.bytes(policy.secretBytes).toString('hex')
}

/** Throws origin_invalid, origin_is_own. Contract: 7, handshake, outbound requests. */
export function readPeerOrigin({ publicAddress, reach }: Deps['config'], text: string): string {
  const origin = normalizeSignedOrigin(text.trim())
  if (!origin || hostOf(origin).endsWith('.')) throw refuse.origin_invalid()
  if (origin.startsWith('http:') && reach.allowPrivate.length === 0) throw refuse.origin_invalid()
  if (origin === publicAddress.origin) throw refuse.origin_is_own()
  return origin
}
