import {
  ApprovalRequest,
  assertCallerCurrent,
  loadInstanceSettings,
  nextId,
  Peer,
  type ActingCaller,
} from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { ensurePeerReply } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { isConsented } from '../handshake/activate.ts'
import { attemptHandshake } from '../handshake/attempt-handshake.ts'
import { readPeerOrigin, withPeer } from '../peers/with-peer.ts'
import { policy } from '../policy.ts'
import { beginInitiation } from './initiate-peering.ts'

type Input = { remoteOrigin: string; caller: ActingCaller; requestId?: string | undefined }
type Reply = z.infer<typeof ensurePeerReply>

/** Where no handshake can start: clients ask at every session. Throws origin_invalid, origin_is_own. Contract: 7, consent. */
export async function findSettledPeering({ config, orm }: Deps, remoteOrigin: string): Promise<Reply | undefined> {
  const em = orm.em.fork()
  const peer = await em.findOne(Peer, { origin: readPeerOrigin(config, remoteOrigin) })
  return peer && peer.status !== 'pending' && !(await isWish(em, peer)) ? replyFor(peer) : undefined
}

/**
 * Without autoAcceptPeering nothing is sent, and an admin decides. Throws origin_invalid, origin_is_own,
 * too_many_peering_requests, and as `assertCallerCurrent` does. Contract: 7, consent.
 */
export async function ensurePeering(deps: Deps, { remoteOrigin, caller, requestId }: Input): Promise<Reply> {
  const origin = readPeerOrigin(deps.config, remoteOrigin)
  const begin = async (em: EntityManager, known: Peer | null) => {
    await assertCallerCurrent(em, caller)
    if (known && !(await isWish(em, known))) return { peer: known, isBegun: false }
    const { autoAcceptPeering } = await loadInstanceSettings(em)
    const waits = await em.count(ApprovalRequest, { sourceOrigin: origin, status: 'pending' })
    if (autoAcceptPeering && waits === 0) {
      return { peer: await beginInitiation(deps, em, { known, origin, adminDecided: false }), isBegun: true }
    }
    if (waits === 0) await requestOutbound(em, { origin, userId: caller.userId, now: deps.clock.now() })
    return { peer: null, isBegun: false }
  }
  const { peer, isBegun } = await withPeer(deps, origin, begin, { requestId })
  const current = peer && isBegun ? (await attemptHandshake(deps, peer, requestId)).peer : peer
  return current ? replyFor(current) : { peeringStatus: 'admin_required' }
}

function replyFor(peer: Peer): Reply {
  return { peeringStatus: statusForUser(peer), peerId: peer.id }
}

async function isWish(em: EntityManager, known: Peer): Promise<boolean> {
  return known.isOffered() && !(await isConsented(em, known))
}

async function requestOutbound(
  em: EntityManager,
  { origin, userId, now }: { origin: string; userId: string; now: number },
): Promise<void> {
  const waiting = await em.count(ApprovalRequest, { direction: 'outbound', status: 'pending' })
  if (waiting >= policy.outboundRequestsMax) throw refuse.too_many_peering_requests()
  em.create(ApprovalRequest, {
    id: await nextId(em),
    sourceOrigin: origin,
    direction: 'outbound',
    status: 'pending',
    requestedBy: userId,
    createdAt: new Date(now),
    expiresAt: new Date(now + policy.handshakeLifetimeMs),
  })
}

/** `pending` includes repeated failures. federation-wire.md 2.2; federation-wire-2.md 3.2. */
function statusForUser({ status, nextAttemptAt }: Peer): Reply['peeringStatus'] {
  if (status === 'unreachable') return 'active'
  if (status === 'pending' && !nextAttemptAt) return 'admin_required'
  return status === 'needs_attention' || status === 'revoked' ? 'rejected' : status
}
