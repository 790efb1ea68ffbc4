import { ApprovalRequest, recordAudit, type ActingAdmin, Peer } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { newPeer } from '../handshake/activate.ts'
import { attemptHandshake } from '../handshake/attempt-handshake.ts'
import { beginOffer } from '../handshake/keep-offer.ts'
import { beginInitiation, offerablePeer } from './initiate-peering.ts'
import { newSecret, withPeer } from '../peers/with-peer.ts'
import { policy } from '../policy.ts'

export type Decision = {
  id: string
  actor: ActingAdmin
  decision: 'approved' | 'denied'
  requestId: string | undefined
}
export type DecidedRequest = { request: ApprovalRequest; known: Peer | null; now: Date }

/** Throws not_found, request_decided, and as `assertCallerCurrent` does. Contract: 7, approval requests. */
export async function decideRequest<Outcome>(
  deps: Deps,
  { id, actor, decision, requestId }: Decision,
  follow: (em: EntityManager, decided: DecidedRequest) => Promise<Outcome>,
): Promise<Outcome> {
  const { sourceOrigin: origin } = await loadWaitingRequest(deps.orm.em.fork(), id)
  return await withPeer(
    deps,
    origin,
    async (em, known) => {
      const request = await loadWaitingRequest(em, id)
      const now = new Date(deps.clock.now())
      const outcome = await follow(em, { request, known, now })
      request.decide(decision, actor.userId, now)
      recordAudit(em, {
        action: `approval-request.${decision}`,
        actor,
        target: { type: 'approval-request', id },
        detail: { origin, direction: request.direction },
        at: now,
      })
      return outcome
    },
    { actor, requestId },
  )
}

/** Locked inside a transaction. Throws not_found, request_decided. */
async function loadWaitingRequest(em: EntityManager, id: string): Promise<ApprovalRequest> {
  const lock = em.isInTransaction() ? { lockMode: LockMode.PESSIMISTIC_WRITE } : {}
  const request = await em.findOne(ApprovalRequest, { id }, lock)
  if (!request) throw refuse.not_found()
  if (request.status !== 'pending') throw refuse.request_decided()
  return request
}

type Input = { id: string; actor: ActingAdmin; requestId?: string | undefined }

/**
 * Stores our offer before sending, and repeats it until answered. Throws not_found, request_decided, peer_exists,
 * peer_needs_reset, and as `assertCallerCurrent` does. Contract: 7, approval requests.
 */
export async function approveRequest(deps: Deps, { id, actor, requestId }: Input): Promise<void> {
  const offered = await decideRequest(deps, { id, actor, decision: 'approved', requestId }, (em, decided) =>
    beginApproved(deps, em, decided),
  )
  await attemptHandshake(deps, offered, requestId)
}

async function beginApproved(deps: Deps, em: EntityManager, { request, known, now }: DecidedRequest): Promise<Peer> {
  const origin = request.sourceOrigin
  if (request.direction === 'outbound') return await beginInitiation(deps, em, { known, origin, adminDecided: true })
  const peer = await offerablePeer(em, { known, origin, now })
  beginOffer(deps, peer, { adminDecided: true, presentedToken: request.approvalToken ?? null, now })
  peer.instanceName ??= request.instanceName
  // The periodic task continues if this process dies.
  peer.nextAttemptAt = new Date(now.getTime() + policy.leaseMs)
  return peer
}

/** Throws not_found, request_decided, and as `assertCallerCurrent` does. Contract: 7, approval requests. */
export async function denyRequest(deps: Deps, { id, actor, requestId }: Input): Promise<void> {
  await decideRequest(deps, { id, actor, decision: 'denied', requestId }, (em, { request, now }) =>
    rejectOrigin(deps, em, { request, reason: 'denied_by_admin', now }),
  )
  void deps.maintenance.runNow()
}

type Rejection = { request: ApprovalRequest; reason: 'denied_by_admin' | 'expired'; now: Date }

/** An existing peer stays one. */
export async function rejectOrigin(
  deps: Pick<Deps, 'random'>,
  em: EntityManager,
  { request, reason, now }: Rejection,
): Promise<void> {
  if (request.direction === 'outbound') return
  const known = await em.findOne(Peer, { origin: request.sourceOrigin })
  if (known && ['active', 'unreachable', 'needs_attention', 'revoked'].includes(known.status)) return
  const peer = known ?? (await newPeer(em, request.sourceOrigin, now))
  peer.reject(reason, newSecret(deps))
}
