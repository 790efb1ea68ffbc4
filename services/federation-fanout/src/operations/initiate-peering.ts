import type { ActingAdmin } from '@gatehouse/authority'
import type { AuditAction } from '@gatehouse/contracts'
import { recordAudit, transaction } from '@gatehouse/database'
import type { Peer } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { refuse, Refusal } from '@gatehouse/runtime'
import { newPeer } from '../peers/peer-states.ts'
import { tryHandshake, type Attempt } from '../handshake/attempt-handshake.ts'
import { beginOffer } from '../handshake/offers.ts'
import type { Unproven, HandshakeDeps } from '../handshake/prove-secret.ts'
import { readPeerOrigin, withPeer, type PeerDeps } from '../peers/with-peer.ts'
import { policy } from '../policy.ts'

type Input = { remoteOrigin: string; actor: ActingAdmin; requestId?: string | undefined }

/**
 * Lifts a revocation or a denial. Returns the peer after the first attempt, or as it was before where something here failed.
 * Throws origin_invalid, origin_is_own, peer_exists, peer_needs_reset, remote_unresolved, remote_unreachable,
 * remote_refused, remote_unproven, remote_clock, handshake_overtaken, and as `assertCallerCurrent` does. Contract: 7,
 * handshake, asking.
 */
export async function initiatePeering(deps: HandshakeDeps, { remoteOrigin, actor, requestId }: Input): Promise<Peer> {
  const origin = readPeerOrigin(deps.config, remoteOrigin)
  const record = (em: EntityManager, action: AuditAction, { id }: Peer, detail = {}) => {
    const target = { type: 'peer' as const, id }
    recordAudit(em, { action, actor, target, detail: { origin, ...detail }, at: new Date(deps.clock.now()) })
  }
  const peer = await withPeer(deps, { origin, actor, requestId }, async (em, existing) => {
    const begun = await beginInitiation(deps, em, { existing, origin, adminDecided: true })
    record(em, 'peer.initiated', begun)
    return begun
  })
  const attempt = await tryHandshake(deps, peer, requestId)
  if (!attempt) return peer
  const hasNoHost = attempt.answer.kind === 'forbidden' || attempt.answer.kind === 'unresolved'
  if (hasNoHost) await forgetNew(deps, peer, requestId)
  try {
    return readAttempt(attempt)
  } catch (error) {
    const code = error instanceof Refusal ? error.code : null
    await transaction(deps.orm, async (em) => record(em, 'peer.initiation-refused', peer, { code }))
    throw error
  }
}

type ExistingPeer = { existing: Peer | null; origin: string }

/** Throws peer_exists, peer_needs_reset. */
export async function offerablePeer(
  em: EntityManager,
  { existing, origin, now }: ExistingPeer & { now: Date },
): Promise<Peer> {
  if (existing?.status === 'active' || existing?.status === 'unreachable') throw refuse.peer_exists()
  if (existing?.status === 'needs_attention') throw refuse.peer_needs_reset()
  return existing ?? (await newPeer(em, origin, now))
}

/** The other side may hold a pending secret already. Call it inside `withPeer`. Throws as `offerablePeer` does. */
export async function beginInitiation(
  deps: Pick<Deps, 'random' | 'clock'>,
  em: EntityManager,
  { existing, origin, adminDecided }: ExistingPeer & { adminDecided: boolean },
): Promise<Peer> {
  const now = new Date(deps.clock.now())
  const peer = await offerablePeer(em, { existing, origin, now })
  if (existing?.isOffered()) {
    peer.adminDecided ||= adminDecided
    peer.reason = null
  } else {
    beginOffer(deps, peer, { adminDecided, presentedToken: null, now })
  }
  // The periodic task continues if this process dies.
  peer.nextAttemptAt = new Date(now.getTime() + policy.leaseMs)
  await em.flush()
  return peer
}

/** A known peer stays. One that an interrupted initiation has left is as new as that of the first one. */
async function forgetNew(deps: PeerDeps, { origin, secret }: Peer, requestId: string | undefined): Promise<void> {
  await withPeer(deps, { origin, requestId }, async (em, peer) => {
    if (peer?.status === 'pending' && peer.secret === secret && isNew(peer)) em.remove(peer)
  })
}

/** Made by the offer under way, and its origin has not made one of its own. */
function isNew({ createdAt, offeredAt, presentedToken }: Peer): boolean {
  return createdAt.getTime() === offeredAt?.getTime() && !presentedToken
}

function readAttempt({ peer, answer, proof }: Attempt): Peer {
  if (answer.kind === 'forbidden') throw refuse.origin_invalid()
  if (answer.kind === 'unresolved') throw refuse.remote_unresolved()
  if (!peer || peer.status === 'revoked') throw refuse.handshake_overtaken()
  if (peer.status === 'active' || peer.status === 'awaiting_approval') return peer
  if (answer.kind === 'in_progress') return peer
  if (answer.kind === 'exists' || answer.kind === 'refused' || answer.kind === 'final') {
    if (answer.kind === 'exists' && proof && !proof.proven && proof.reason !== 'wrong') throw unproven(proof.reason)
    const code = answer.kind === 'exists' ? { code: 'PEER_EXISTS_RESET_REQUIRED' as const } : {}
    throw refuse.remote_refused({ fields: { answer: answer.message, ...code } })
  }
  if (answer.kind === 'unreachable') throw unproven('unreachable')
  if (proof && !proof.proven) throw unproven(proof.reason)
  return peer
}

function unproven(reason: Unproven['reason']): Refusal {
  if (reason === 'unreachable') return refuse.remote_unreachable({ headers: { 'Retry-After': '5' } })
  return reason === 'clock' ? refuse.remote_clock() : refuse.remote_unproven()
}
