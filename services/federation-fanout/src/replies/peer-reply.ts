import type { PeerReply, approvalRequestReply } from '@gatehouse/contracts'
import { read } from '@gatehouse/database'
import { ApprovalRequest, Peer, peerReasons } from '@gatehouse/domain'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'

/** Never the secret. Contract: 7, states of a peer. */
export function peerReply(peer: Peer): PeerReply {
  const { id, origin, status, reason = null, instanceName = null, instanceId = null } = peer
  return {
    id,
    origin,
    status,
    reason,
    statusReason: reason && peerReasons[reason],
    instanceName,
    instanceId,
    createdAt: peer.createdAt.getTime(),
    activatedAt: peer.activatedAt?.getTime() ?? null,
    revokedAt: peer.revokedAt?.getTime() ?? null,
    rotatedAt: peer.rotatedAt?.getTime() ?? null,
    autoRotateIntervalDays: peer.autoRotateIntervalDays,
    lastSeenAt: peer.seenAt?.getTime() ?? null,
    lastSyncedAt: peer.syncedAt?.getTime() ?? null,
    failuresInRow: peer.failedDeliveries + peer.refusedDeliveries,
  }
}

/** Newest first. Contract: 7, states of a peer. */
export async function listPeers({ orm }: Pick<Deps, 'orm'>): Promise<PeerReply[]> {
  const sql = `select origin, count(*)::int as count
  from (select origin from deletion_orders where state = 'overdue' limit ?) as overdue group by origin`
  const [peers, orders] = await Promise.all([
    orm.em.fork().findAll(Peer, { orderBy: { id: 'desc' } }),
    read<{ origin: string; count: number }>(orm.em.fork(), sql, [policy.overdueOrdersCounted]),
  ])
  const overdue = new Map(orders.map(({ origin, count }) => [origin, count]))
  return peers.map((peer) => ({ ...peerReply(peer), ordersOverdue: overdue.get(peer.origin) ?? 0 }))
}

type RequestReply = z.infer<typeof approvalRequestReply>

/** Newest first. Never the secret or token. Contract: 7, consent. */
export async function listApprovalRequests({ orm }: Pick<Deps, 'orm'>): Promise<RequestReply[]> {
  const newest = { orderBy: { id: 'desc' }, limit: 200 } as const
  const requests = await orm.em.fork().find(ApprovalRequest, { status: 'pending' }, newest)
  return requests.map(({ id, sourceOrigin: origin, direction, instanceName = null, createdAt, expiresAt }) => {
    return { id, origin, direction, instanceName, requestedAt: createdAt.getTime(), expiresAt: expiresAt.getTime() }
  })
}
