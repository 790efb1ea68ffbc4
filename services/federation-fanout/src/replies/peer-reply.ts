import type { PeerReply, approvalRequestReply } from '@gatehouse/contracts'
import type { ApprovalRequest, Peer } from '@gatehouse/domain'
import type { z } from 'zod'

/** Never the secret. Contract: 7. */
export function peerReply(peer: Peer): PeerReply {
  return {
    id: peer.id,
    origin: peer.origin,
    status: peer.status,
    reason: peer.reason ?? null,
    instanceName: peer.instanceName ?? null,
    instanceId: peer.instanceId ?? null,
    createdAt: peer.createdAt.getTime(),
    activatedAt: peer.activatedAt?.getTime() ?? null,
    revokedAt: peer.revokedAt?.getTime() ?? null,
    rotatedAt: peer.rotatedAt?.getTime() ?? null,
    autoRotateIntervalDays: peer.autoRotateIntervalDays,
  }
}

/** Never the secret or token. Contract: 7. */
export function requestReply(request: ApprovalRequest): z.infer<typeof approvalRequestReply> {
  return {
    id: request.id,
    origin: request.sourceOrigin,
    direction: request.direction,
    instanceName: request.instanceName ?? null,
    requestedAt: request.createdAt.getTime(),
    expiresAt: request.expiresAt.getTime(),
  }
}
