import type { ActingAdmin, Peer } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { attemptHandshake } from '../handshake/attempt-handshake.ts'
import { beginOffer } from '../handshake/keep-offer.ts'
import { policy } from '../policy.ts'
import { decideRequest, type DecidedRequest } from './decide-request.ts'
import { beginInitiation, offerablePeer } from './initiate-peering.ts'

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
