import { approvalCode, existsCode, findRequest, inProgressCode, requestOutbound } from './accept.ts'
import { activate } from './activation.ts'
import { call, isSuccess } from './calls.ts'
import type { Answer } from './calls.ts'
import { askEpoch } from './epoch.ts'
import { nullableTextField, textField } from './fields.ts'
import type { Instance, Peer } from './instance.ts'
import { parsePeerOrigin } from './origins.ts'
import { changeStatus, deletePeer, outcome, putPeer, rejectPeer } from './peering.ts'
import type { Outcome } from './peering.ts'
import { parkAndProbe, shownName } from './probes.ts'
import { hasQueuedEvents } from './queue.ts'

async function postOffer(instance: Instance, origin: string, secret: string, token: string | null): Promise<Answer> {
  const body = {
    sourceOrigin: instance.origin,
    hmacSecret: secret,
    instanceName: shownName(instance),
    instanceId: instance.instanceId,
    ...(token === null ? {} : { approvalToken: token }),
  }
  const request = { origin, method: 'POST', path: '/api/federation/peer/accept', body } as const
  return await call(instance, { ...request, timeoutMs: instance.timeoutsMs.message })
}

/** By it the 403 of the first generation is known, which has no code. wire: 2.2 */
const revokedText = 'Peering with this instance has been revoked'
const finalCodes: Record<string, string> = { [approvalCode]: 'denied_by_remote', PEER_REVOKED: 'revoked_by_remote' }
const minuteMs = 60_000
const offerPaceMs = [minuteMs / 2, minuteMs, 5 * minuteMs, 15 * minuteMs]

type Offering = { isNew: boolean; token?: string | null }

/** Of all senders alike. Nothing is written once the row has become something else. wire: 2.3 */
async function offerAsSecond(instance: Instance, peer: Peer, { isNew, token = null }: Offering): Promise<Outcome> {
  const { origin, secret } = peer
  peer.isOffering = true
  const answer = await postOffer(instance, origin, secret, token).finally(() => (peer.isOffering = false))
  const isOurs = () => instance.peers.get(origin) === peer && peer.status === 'pending' && peer.secret === secret
  const status = () => outcome(200, { peer: peer.id, peeringStatus: peer.status })
  const code = textField(answer.body, 'code') ?? ''
  if (!isOurs()) return status()
  if (answer.status === 202) return awaitApproval(instance, peer, answer)
  if (isSuccess(answer) || code === existsCode) {
    const proof = await askEpoch(instance, origin, secret)
    if (!isOurs()) return status()
    if (proof) activate(instance, peer, { ...nameIn(answer), instanceId: proof.instanceId })
    else if (isSuccess(answer)) parkAndProbe(instance, peer, 'repeer_incomplete')
    else rejectFor(instance, peer, 'stale_peering_on_remote')
    return status()
  }
  const isRevoked = textField(answer.body, 'error') === revokedText
  const finalReason = answer.status === 403 ? finalCodes[isRevoked ? 'PEER_REVOKED' : code] : undefined
  if (finalReason) rejectFor(instance, peer, finalReason)
  else if (isNew && code !== inProgressCode && !hasQueuedEvents(instance, origin)) deletePeer(instance, origin)
  else {
    peer.placeholder = true
    peer.nextOfferAt = instance.now() + (offerPaceMs[peer.failedOffers] ?? 15 * minuteMs)
    peer.failedOffers += 1
  }
  return code === inProgressCode ? status() : failed(answer)
}

function rejectFor(instance: Instance, peer: Peer, statusReason: string): void {
  rejectPeer(instance, peer)
  peer.statusReason = statusReason
}

/** The column "admin's initiate". A failure deletes the row, whatever it has become meanwhile. wire: 2.3 */
export async function initiatePeering(instance: Instance, remoteOrigin: string): Promise<Outcome> {
  const origin = parsePeerOrigin(remoteOrigin)
  if (origin === null) return outcome(400, { error: 'remoteOrigin is refused' })
  const status = instance.peers.get(origin)?.status
  if (status === 'unreachable') return outcome(500, { error: 'Internal Server Error' })
  const isReplaced = status === undefined || status === 'rejected' || status === 'revoked'
  if (!isReplaced) return outcome(409, { error: `The peer is ${status}` })
  const secret = instance.newSecret()
  const peer = putPeer(instance, origin, { status: 'pending', secret, byAdmin: true })
  if (instance.generation === 2) return await offerAsSecond(instance, peer, { isNew: status === undefined })
  const answer = await postOffer(instance, origin, secret, null)
  if (answer.status === 202) return awaitApproval(instance, peer, answer)
  if (isSuccess(answer)) return await prove(instance, peer, { answer, secret })
  deletePeer(instance, origin)
  const mustReset = answer.status === 409 && textField(answer.body, 'code') === existsCode
  return mustReset ? outcome(409, { error: 'The other side has to reset first', code: existsCode }) : failed(answer)
}

/** The state changes, the secret does not: it may be one that a crossing offer has brought. wire: 2.3, 2.5 */
function awaitApproval(instance: Instance, peer: Peer, answer: Answer): Outcome {
  changeStatus(instance, peer, 'awaiting_approval')
  peer.approvalToken = nullableTextField(answer.body, 'approvalToken')
  return outcome(202, { peer: peer.id, peeringStatus: 'awaiting_approval' })
}

/** Proven is the secret that was offered, not the one that a crossing offer may have put in its place. wire: 2.5 */
async function prove(instance: Instance, peer: Peer, offer: { answer: Answer; secret: string }): Promise<Outcome> {
  const proof = await askEpoch(instance, peer.origin, offer.secret)
  if (!proof) parkAndProbe(instance, peer, 'repeer_incomplete')
  else activate(instance, peer, { ...nameIn(offer.answer), instanceId: idIn(offer.answer) ?? proof.instanceId })
  return outcome(200, { peer: peer.id, verified: proof !== null })
}

const idIn = (answer: Answer) => textField(answer.body, 'instanceId')
const nameIn = (answer: Answer) => ({ instanceName: textField(answer.body, 'instanceName') })

function failed(answer: Answer): Outcome {
  const error = answer.failure ?? textField(answer.body, 'error') ?? `HTTP ${answer.status}`
  return outcome(answer.failure === 'timeout' ? 504 : 502, { error })
}

export type PeeringStatus = 'active' | 'pending' | 'awaiting_approval' | 'rejected' | 'admin_required'

/** What a user's connecting causes; `pending` also says "failed, will be retried". wire: 2.2, peer/ensure */
export async function ensurePeering(instance: Instance, remoteOrigin: string): Promise<Outcome> {
  const origin = parsePeerOrigin(remoteOrigin)
  if (origin === null) return outcome(400, { error: 'remoteOrigin is refused' })
  const existingPeer = instance.peers.get(origin)
  if (!existingPeer || existingPeer.placeholder) {
    if (findRequest(instance, origin, 'inbound')) return outcome(200, { peeringStatus: 'admin_required' })
    if (!existingPeer && !instance.settings.autoAcceptPeering) {
      requestOutbound(instance, origin)
      return outcome(200, { peeringStatus: 'admin_required' })
    }
    const peer = existingPeer ?? putPeer(instance, origin, { status: 'pending', secret: instance.newSecret() })
    await offerAutomatically(instance, peer, { isNew: !existingPeer })
  }
  const peer = instance.peers.get(origin)
  const peeringStatus = statusForUser(peer, instance.generation)
  return outcome(200, { peeringStatus, ...(peer ? { peerId: peer.id } : {}) })
}

/** The second generation. wire: 2.2, peer/ensure */
function statusForUser(peer: Peer | undefined, generation: 1 | 2): PeeringStatus {
  if (!peer) return 'pending'
  if (peer.status === 'unreachable') return generation === 2 ? 'active' : 'pending'
  if (peer.status === 'needs_attention') return generation === 2 ? 'rejected' : 'admin_required'
  return peer.status === 'revoked' ? 'rejected' : peer.status
}

/** On each tick while its traffic waits, with the same secret. An own inbound request stops it. wire: 2.3 */
export async function offerPlaceholder(instance: Instance, peer: Peer): Promise<void> {
  if (instance.now() < peer.nextOfferAt) return
  if (findRequest(instance, peer.origin, 'inbound')) return
  await offerAutomatically(instance, peer, { isNew: false })
}

/** The column "automatic": active unproven; 403 with the code is final; a placeholder survives the rest. wire: 2.3 */
async function offerAutomatically(instance: Instance, peer: Peer, { isNew }: { isNew: boolean }): Promise<void> {
  if (instance.generation === 2) return void (await offerAsSecond(instance, peer, { isNew }))
  const answer = await postOffer(instance, peer.origin, peer.secret, null)
  if (instance.peers.get(peer.origin) !== peer) return
  if (answer.status === 202) awaitApproval(instance, peer, answer)
  else if (isSuccess(answer)) activate(instance, peer, { ...nameIn(answer), instanceId: idIn(answer) })
  else if (answer.status === 403 && textField(answer.body, 'code') === approvalCode) rejectPeer(instance, peer)
  else if (isNew) deletePeer(instance, peer.origin)
}

/** The column "approval". Of an active peer's request nothing comes, and nobody is told. wire: 2.2, 2.3 */
export async function approveRequest(instance: Instance, requestId: string): Promise<Outcome> {
  const request = instance.requests.get(requestId)
  if (!request) return outcome(404, { error: 'No such request' })
  const { origin } = request
  if (instance.peers.get(origin)?.status === 'active') {
    instance.requests.delete(requestId)
    return outcome(200, { success: true })
  }
  const secret = instance.newSecret()
  const peer = putPeer(instance, origin, { status: 'pending', secret, byAdmin: true })
  if (instance.generation === 2) {
    instance.requests.delete(requestId)
    return await offerAsSecond(instance, peer, { isNew: false, token: request.approvalToken })
  }
  const answer = await postOffer(instance, origin, secret, request.approvalToken)
  if (!isSuccess(answer)) {
    deletePeer(instance, origin)
    return failed(answer)
  }
  instance.requests.delete(requestId)
  if (answer.status === 202) awaitApproval(instance, peer, answer)
  else activate(instance, peer, { ...nameIn(answer), instanceId: idIn(answer) })
  return outcome(200, { success: true })
}
