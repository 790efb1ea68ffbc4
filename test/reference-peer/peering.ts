import { randomUUID } from 'node:crypto'
import type { AttentionReason, Instance, Peer, PeerStatus } from './instance.ts'
import { hostOf } from './origins.ts'
import { markUsersOfHost, usersOfHost } from './users.ts'

export type NewPeer = Partial<Peer> & { status: PeerStatus; secret: string }

/** Puts a new row in the place of whatever stood there. */
export function putPeer(instance: Instance, origin: string, fields: NewPeer): Peer {
  const peer: Peer = {
    id: randomUUID(),
    origin,
    placeholder: false,
    byAdmin: false,
    isOffering: false,
    failedOffers: 0,
    nextOfferAt: 0,
    statusReason: null,
    newSecret: null,
    newSecretTakenUntil: 0,
    rotatedAt: instance.now(),
    autoRotateIntervalDays: 90,
    approvalToken: null,
    instanceId: null,
    instanceName: null,
    attention: null,
    failedDeliveries: 0,
    refusedDeliveries: 0,
    failedProbes: 0,
    nextProbeAt: 0,
    sendsNonces: false,
    syncCheckpoints: {},
    syncIds: {},
    ...fields,
  }
  instance.peers.set(origin, peer)
  return peer
}

export function deletePeer(instance: Instance, origin: string): void {
  const peer = instance.peers.get(origin)
  if (peer) changeStatus(instance, peer, 'pending')
  instance.peers.delete(origin)
  dropQueue(instance, origin)
}

export function dropQueue(instance: Instance, origin: string): void {
  instance.outbox = instance.outbox.filter((queued) => queued.origin !== origin)
}

/** Becoming inactive shows all users of that host as offline. wire: 2.7 */
export function changeStatus(instance: Instance, peer: Peer, status: PeerStatus): void {
  const wasActive = peer.status === 'active'
  peer.status = status
  if (status !== 'pending') peer.placeholder = false
  if (status !== 'needs_attention') peer.attention = null
  const host = hostOf(peer.origin)
  if (!wasActive || status === 'active' || host === null) return
  for (const user of usersOfHost(instance, host)) user.status = 'offline'
}

/** Rejected: final until an admin acts, and the queue is dropped. wire: 2.1, 2.3 */
export function rejectPeer(instance: Instance, peer: Peer): void {
  changeStatus(instance, peer, 'rejected')
  dropQueue(instance, peer.origin)
}

export function park(instance: Instance, peer: Peer, reason: AttentionReason): void {
  changeStatus(instance, peer, 'needs_attention')
  peer.attention = reason
}

/** Another instanceId than the known one: the peer is parked and the users of its host are marked. wire: 2.6 */
export function parkIfReset(instance: Instance, peer: Peer, instanceId: string | null): boolean {
  if (instanceId === null || peer.instanceId === null || instanceId === peer.instanceId) return false
  const host = hostOf(peer.origin)
  if (host !== null) markUsersOfHost(instance, host, peer.instanceId)
  park(instance, peer, 'peer_reset_detected')
  return true
}

/** The first one known stays. wire: 2.6 */
export function learnInstanceId(peer: Peer, instanceId: string | null): void {
  peer.instanceId ??= instanceId
}

export type Outcome = { status: number; body: Record<string, unknown> }

export function outcome(status: number, body: Record<string, unknown> = {}): Outcome {
  return { status, body: status >= 400 ? { statusCode: status, ...body } : body }
}

/** Nobody is told. wire: 2.9 */
export function revokePeer(instance: Instance, origin: string): Outcome {
  const peer = instance.peers.get(origin)
  if (!peer) return outcome(404, { error: 'No such peer' })
  changeStatus(instance, peer, 'revoked')
  dropQueue(instance, origin)
  return outcome(200, { success: true })
}

/** Only a revoked one can be forgotten. wire: 2.2, admin */
export function forgetPeer(instance: Instance, origin: string): Outcome {
  return deleteWhen(instance, origin, 'revoked')
}

/** Only one that needs attention can be reset, and that forgets it. wire: 2.2, admin */
export function resetPeer(instance: Instance, origin: string): Outcome {
  return deleteWhen(instance, origin, 'needs_attention')
}

function deleteWhen(instance: Instance, origin: string, status: PeerStatus): Outcome {
  const peer = instance.peers.get(origin)
  if (!peer) return outcome(404, { error: 'No such peer' })
  if (peer.status !== status) return outcome(409, { error: `The peer is ${peer.status}, not ${status}` })
  deletePeer(instance, origin)
  return outcome(200, { success: true })
}
