import type { Peer } from '@gatehouse/domain'
import type { PeerReply } from '@gatehouse/contracts'

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
