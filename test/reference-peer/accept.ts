import { randomBytes, randomUUID } from 'node:crypto'
import { activate } from './activation.ts'
import { textField } from './fields.ts'
import type { ApprovalRequest, Instance, Peer } from './instance.ts'
import { parsePeerOrigin } from './origins.ts'
import { parkIfReset, putPeer } from './peering.ts'
import { shownName } from './probes.ts'
import { Refused, refused, reply } from './replies.ts'
import type { ReceivedRequest, Reply } from './replies.ts'

type Offer = {
  origin: string
  secret: string
  instanceName: string | null
  instanceId: string | null
  approvalToken: string | null
}

export const existsCode = 'PEER_EXISTS_RESET_REQUIRED'
export const approvalCode = 'PEERING_REQUIRES_APPROVAL'
export const inProgressCode = 'PEER_HANDSHAKE_IN_PROGRESS'

const requestLifeMs = 30 * 24 * 60 * 60_000

/** An unsigned offer, from server to server. Nothing is asked back. wire: 2.2, peer/accept */
export function answerAccept(instance: Instance, request: ReceivedRequest): Reply {
  const offer = parseOffer(request.body)
  const peer = instance.peers.get(offer.origin)
  if (instance.generation === 2) return answerAsSecond(instance, offer, peer)
  return instance.settings.autoAcceptPeering
    ? answerWhenOn(instance, offer, peer)
    : answerWhenOff(instance, offer, peer)
}

function parseOffer(body: unknown): Offer {
  const origin = parsePeerOrigin(textField(body, 'sourceOrigin'))
  const secret = textField(body, 'hmacSecret')
  if (origin === null) throw refused(400, 'sourceOrigin is missing or refused')
  if (secret === null) throw refused(400, 'hmacSecret is required')
  const [instanceName, instanceId] = [textField(body, 'instanceName'), textField(body, 'instanceId')]
  return { origin, secret, instanceName, instanceId, approvalToken: textField(body, 'approvalToken') }
}

/** The column "autoAcceptPeering on" of the table. wire: 2.2 */
function answerWhenOn(instance: Instance, offer: Offer, peer: Peer | undefined): Reply {
  switch (peer?.status) {
    case 'active':
    case 'needs_attention':
      parkIfReset(instance, peer, offer.instanceId)
      throw existing(instance)
    case 'revoked':
      throw refused(403, 'This peer is revoked')
    case 'pending':
    case 'awaiting_approval':
    case 'unreachable':
    case 'rejected':
    case undefined:
      return accepted(instance, offer, peer)
  }
}

/** The column "off". wire: 2.2 */
function answerWhenOff(instance: Instance, offer: Offer, peer: Peer | undefined): Reply {
  if (peer?.status === 'pending') return accepted(instance, offer, peer)
  if (peer?.status === 'rejected') throw refused(403, 'Peering needs an approval', approvalCode)
  const isCompleted = peer?.status === 'awaiting_approval' && peer.approvalToken !== null
  if (isCompleted && offer.approvalToken === peer.approvalToken) return accepted(instance, offer, peer)
  return queued(instance, offer)
}

/** wire: 2.2 */
function answerAsSecond(instance: Instance, offer: Offer, peer: Peer | undefined): Reply {
  const isOn = instance.settings.autoAcceptPeering
  const isCrossed = peer?.isOffering === true && instance.origin < offer.origin
  const inProgress = () => refused(409, 'A handshake is in progress', inProgressCode)
  const isTaken = isOn || peer?.byAdmin === true
  switch (peer?.status) {
    case 'active':
    case 'unreachable':
    case 'needs_attention':
      parkIfReset(instance, peer, offer.instanceId)
      throw existing(instance)
    case 'revoked':
      throw refused(403, 'Peering with this instance has been revoked', 'PEER_REVOKED')
    case 'rejected':
      if (peer.statusReason === 'denied_by_local_admin' || (peer.statusReason === null && !isOn)) {
        throw refused(403, 'Peering needs an approval', approvalCode)
      }
      if (isCrossed) throw inProgress()
      return isTaken ? accepted(instance, offer, peer) : queued(instance, offer)
    case 'pending':
      if (isCrossed) throw inProgress()
      return isTaken ? accepted(instance, offer, peer) : queued(instance, offer)
    case 'awaiting_approval': {
      const isCompleted = peer.byAdmin && peer.approvalToken !== null && peer.approvalToken === offer.approvalToken
      return isOn || isCompleted ? accepted(instance, offer, peer) : queued(instance, offer)
    }
    case undefined:
      return isOn ? accepted(instance, offer, peer) : queued(instance, offer)
  }
}

function accepted(instance: Instance, offer: Offer, existingPeer: Peer | undefined): Reply {
  const { secret, instanceId, instanceName } = offer
  const peer = existingPeer ?? putPeer(instance, offer.origin, { status: 'pending', secret })
  activate(instance, peer, { secret, instanceId, instanceName })
  return reply(200, { accepted: true, instanceName: shownName(instance), instanceId: instance.instanceId })
}

function existing(instance: Instance): Refused {
  return new Refused(
    reply(409, {
      accepted: false,
      code: existsCode,
      error: 'This peer exists; its admin has to reset it first',
      instanceName: shownName(instance),
      instanceId: instance.instanceId,
      statusCode: 409,
    }),
  )
}

/** One request for each origin; a later offer takes its place, with a new token. wire: 2.2 */
function queued(instance: Instance, offer: Offer): Reply {
  const earlierRequest = findRequest(instance, offer.origin, 'inbound')
  const approvalToken = randomBytes(32).toString('hex')
  const now = instance.now()
  const request: ApprovalRequest = {
    id: earlierRequest?.id ?? randomUUID(),
    direction: 'inbound',
    origin: offer.origin,
    instanceName: offer.instanceName,
    secret: offer.secret,
    approvalToken,
    requestedAt: now,
    expiresAt: now + requestLifeMs,
  }
  instance.requests.set(request.id, request)
  return reply(202, { queued: true, message: 'An admin will decide', approvalToken })
}

export function findRequest(instance: Instance, origin: string, direction: ApprovalRequest['direction']) {
  return [...instance.requests.values()].find((waiting) => waiting.origin === origin && waiting.direction === direction)
}

/** A user's wish, which waits for the own admin; nothing on the wire. wire: 2.1 */
export function requestOutbound(instance: Instance, origin: string): void {
  if (findRequest(instance, origin, 'outbound')) return
  const [id, now] = [randomUUID(), instance.now()]
  const nothing = { instanceName: null, secret: null, approvalToken: null }
  const times = { requestedAt: now, expiresAt: now + requestLifeMs }
  instance.requests.set(id, { id, direction: 'outbound', origin, ...nothing, ...times })
}
