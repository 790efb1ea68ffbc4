import { recordAudit, type ApprovalRequest } from '@gatehouse/domain'
import type { Actor, Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { activate, newPeer } from '../handshake/activate.ts'
import { proveSecret, unproven } from '../handshake/prove-secret.ts'
import { withPeer } from '../peers/with-peer.ts'
import { loadWaitingRequest } from '../queries/load-waiting-request.ts'

type Input = { id: string; actor: Actor; requestId?: string | undefined }

/**
 * Approves a waiting request, once its origin has proved again that it holds the secret. The peer is pending before
 * that, because the proof makes the other side send an epoch question: so it learns of the decision. Throws not_found, request_decided,
 * peer_exists, remote_unreachable, remote_unproven, remote_clock, handshake_overtaken. Contract: 7, approval requests.
 */
export async function approveRequest(deps: Deps, input: Input): Promise<void> {
  const request = await loadWaitingRequest(deps.orm.em.fork(), input.id)
  await storePendingPeer(deps, request)
  const offer = { origin: request.sourceOrigin, secret: request.secret }
  const proof = await proveSecret(deps, offer, input.requestId)
  if (!proof.proven) {
    await endOffer(deps, request)
    throw unproven(proof.reason)
  }
  const { instanceName } = request
  await withPeer(deps, offer.origin, async (em, peer) => {
    const waiting = await loadWaitingRequest(em, input.id)
    if (peer?.secret !== offer.secret) throw refuse.handshake_overtaken()
    const now = new Date(deps.clock.now())
    waiting.decide('approved', input.actor.userId, now)
    recordAudit(em, {
      action: 'approval-request.approved',
      actor: input.actor,
      target: { type: 'approval-request', id: input.id },
      detail: { origin: offer.origin },
      at: now,
    })
    await em.flush()
    await activate(em, peer, { ...offer, instanceName, instanceId: proof.instanceId }, now)
  })
}

/** The other side's epoch question has to find the secret here before the proof has ended. */
async function storePendingPeer(deps: Deps, { sourceOrigin, secret }: ApprovalRequest): Promise<void> {
  await withPeer(deps, sourceOrigin, async (em, peer) => {
    if (peer?.status === 'active') throw refuse.peer_exists()
    const now = new Date(deps.clock.now())
    const expected = peer ?? (await newPeer(em, sourceOrigin, now))
    expected.offer(secret, now)
    await em.flush()
  })
}

/** The peer stays pending: the approval holds for the next offer of that origin. */
async function endOffer(deps: Deps, { sourceOrigin, secret }: ApprovalRequest): Promise<void> {
  await withPeer(deps, sourceOrigin, async (em, peer) => {
    if (peer?.status === 'pending' && peer.secret === secret) peer.offeredAt = null
    await em.flush()
  })
}
