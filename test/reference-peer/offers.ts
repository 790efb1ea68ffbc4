import { approvalCode, existsCode, findRequest, requestOutbound } from './accept.ts'
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

/** The column "admin's initiate". A failure deletes the row, whatever it has become meanwhile. wire: 2.3 */
export async function initiatePeering(instance: Instance, remoteOrigin: string): Promise<Outcome> {
  const origin = parsePeerOrigin(remoteOrigin)
  if (origin === null) return outcome(400, { error: 'remoteOrigin is refused' })
  const status = instance.peers.get(origin)?.status
  if (status === 'unreachable') return outcome(500, { error: 'Internal Server Error' })
  const isReplaced = status === undefined || status === 'rejected' || status === 'revoked'
  if (!isReplaced) return outcome(409, { error: `The peer is ${status}` })
  const secret = instance.newSecret()
  const peer = putPeer(instance, origin, { status: 'pending', secret })
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
  else activate(instance, peer, { ...named(offer.answer), instanceId: idIn(offer.answer) ?? proof.instanceId })
  return outcome(200, { peer: peer.id, verified: proof !== null })
}

const idIn = (answer: Answer) => textField(answer.body, 'instanceId')
const named = (answer: Answer) => ({ instanceName: textField(answer.body, 'instanceName') })

function failed(answer: Answer): Outcome {
  const error = answer.failure ?? textField(answer.body, 'error') ?? `HTTP ${answer.status}`
  return outcome(answer.failure === 'timeout' ? 504 : 502, { error })
}

export type PeeringStatus = 'active' | 'pending' | 'awaiting_approval' | 'rejected' | 'admin_required'

/** What a user's connecting causes; `pending` also says "failed, will be retried". wire: 2.2, peer/ensure */
export async function ensurePeering(instance: Instance, remoteOrigin: string): Promise<Outcome> {
  const origin = parsePeerOrigin(remoteOrigin)
  if (origin === null) return outcome(400, { error: 'remoteOrigin is refused' })
  const known = instance.peers.get(origin)
  if (!known || known.placeholder) {
    if (findRequest(instance, origin, 'inbound')) return outcome(200, { peeringStatus: 'admin_required' })
    if (!known && !instance.settings.autoAcceptPeering) {
      requestOutbound(instance, origin)
      return outcome(200, { peeringStatus: 'admin_required' })
    }
    const peer = known ?? putPeer(instance, origin, { status: 'pending', secret: instance.newSecret() })
    await offerAutomatically(instance, peer, { isNew: !known })
  }
  const peer = instance.peers.get(origin)
  return outcome(200, { peeringStatus: statusForUser(peer), ...(peer ? { peerId: peer.id } : {}) })
}

function statusForUser(peer: Peer | undefined): PeeringStatus {
  if (!peer || peer.status === 'unreachable') return 'pending'
  if (peer.status === 'needs_attention') return 'admin_required'
  return peer.status === 'revoked' ? 'rejected' : peer.status
}

/** On each tick while its traffic waits, with the same secret. An own inbound request stops it. wire: 2.3 */
export async function offerPlaceholder(instance: Instance, peer: Peer): Promise<void> {
  if (findRequest(instance, peer.origin, 'inbound')) return
  await offerAutomatically(instance, peer, { isNew: false })
}

/** The column "automatic": active unproven; 403 with the code is final; a placeholder survives the rest. wire: 2.3 */
async function offerAutomatically(instance: Instance, peer: Peer, { isNew }: { isNew: boolean }): Promise<void> {
  const answer = await postOffer(instance, peer.origin, peer.secret, null)
  if (instance.peers.get(peer.origin) !== peer) return
  if (answer.status === 202) awaitApproval(instance, peer, answer)
  else if (isSuccess(answer)) activate(instance, peer, { ...named(answer), instanceId: idIn(answer) })
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
  const peer = putPeer(instance, origin, { status: 'pending', secret })
  const answer = await postOffer(instance, origin, secret, request.approvalToken)
  if (!isSuccess(answer)) {
    deletePeer(instance, origin)
    return failed(answer)
  }
  instance.requests.delete(requestId)
  if (answer.status === 202) awaitApproval(instance, peer, answer)
  else activate(instance, peer, { ...named(answer), instanceId: idIn(answer) })
  return outcome(200, { success: true })
}
