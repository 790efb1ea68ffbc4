import { type ActingCaller, assertCallerCurrent } from '@gatehouse/authority'
import { ApprovalRequest, Peer } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { ensurePeerReply } from '@gatehouse/contracts'
import { loadInstanceSettings, nextId } from '@gatehouse/database'
import type { Deps } from '../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { isConsented } from '../peers/peer-states.ts'
import { attemptHandshake } from '../handshake/attempt-handshake.ts'
import type { HandshakeDeps } from '../handshake/prove-secret.ts'
import { readPeerOrigin, withPeer } from '../peers/with-peer.ts'
import { policy } from '../policy.ts'
import { beginInitiation } from './initiate-peering.ts'

type Input = { remoteOrigin: string; caller: ActingCaller; requestId?: string | undefined }
type Reply = z.infer<typeof ensurePeerReply>

/** Where no handshake can start: clients ask at every session. Throws origin_invalid, origin_is_own. Contract: 7, consent. */
export async function findSettledPeering(
  { config, orm }: Pick<Deps, 'orm' | 'config'>,
  remoteOrigin: string,
): Promise<Reply | undefined> {
  const em = orm.em.fork()
  const peer = await em.findOne(Peer, { origin: readPeerOrigin(config, remoteOrigin) })
  return peer && peer.status !== 'pending' && !(await isWish(em, peer)) ? replyFor(peer) : undefined
}

/**
 * Without autoAcceptPeering nothing is sent, and an admin decides. Throws origin_invalid, origin_is_own,
 * too_many_peering_requests, and as `assertCallerCurrent` does. Contract: 7, consent.
 */
export async function ensurePeering(deps: HandshakeDeps, { remoteOrigin, caller, requestId }: Input): Promise<Reply> {
  const origin = readPeerOrigin(deps.config, remoteOrigin)
  const { peer, isBegun } = await withPeer(deps, { origin, requestId }, async (em, existing) => {
    await assertCallerCurrent(em, caller)
    if (existing && !(await isWish(em, existing))) return { peer: existing, isBegun: false }
    const { autoAcceptPeering } = await loadInstanceSettings(em)
    const waits = await em.count(ApprovalRequest, { sourceOrigin: origin, status: 'pending' })
    if (autoAcceptPeering && waits === 0) {
      return { peer: await beginInitiation(deps, em, { existing, origin, adminDecided: false }), isBegun: true }
    }
    if (waits === 0) await requestOutbound(em, { origin, userId: caller.userId, now: deps.clock.now() })
    return { peer: null, isBegun: false }
  })
  const current = peer && isBegun ? (await attemptHandshake(deps, peer, requestId)).peer : peer
  return current ? replyFor(current) : { peeringStatus: 'admin_required' }
}

async function isWish(em: EntityManager, existing: Peer): Promise<boolean> {
  return existing.isOffered() && !(await isConsented(em, existing))
}

type Wish = { origin: string; userId: string; now: number }

async function requestOutbound(em: EntityManager, { origin, userId, now }: Wish): Promise<void> {
  const outbound = { direction: 'outbound', status: 'pending' } as const
  const waiting = await em.count(ApprovalRequest, outbound)
  if (waiting >= policy.outboundRequestsMax) throw refuse.too_many_peering_requests()
  const times = { createdAt: new Date(now), expiresAt: new Date(now + policy.handshakeLifetimeMs) }
  em.create(ApprovalRequest, { id: await nextId(em), sourceOrigin: origin, ...outbound, requestedBy: userId, ...times })
}

/** `pending` includes repeated failures. protocol.md 2.2. */
function replyFor({ id, status, nextAttemptAt }: Peer): Reply {
  const reply = (peeringStatus: Reply['peeringStatus']) => ({ peeringStatus, peerId: id })
  if (status === 'unreachable') return reply('active')
  if (status === 'pending' && !nextAttemptAt) return reply('admin_required')
  return reply(status === 'needs_attention' || status === 'revoked' ? 'rejected' : status)
}
