import { endpoints } from '@gatehouse/contracts'
import { loadInstanceSettings } from '@gatehouse/database'
import type { Peer } from '@gatehouse/domain'
import { OutboundFailure, type OutboundAnswer } from '@gatehouse/outbound'
import { requestIdHeader } from '@gatehouse/service-kit'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { activate, isConsented } from '../peers/peer-states.ts'
import { proveSecret, type Proof, type HandshakeDeps } from './prove-secret.ts'
import { isSuccess, jsonOf, messageOf, readableText } from '../peers/exchange.ts'
import { hashToken } from '../peers/signature.ts'
import { newSecret, withPeer } from '../peers/with-peer.ts'
import { policy, repeatLater } from '../policy.ts'

export type Attempt = { peer: Peer | null; answer: OfferAnswer; proof: Proof | null }

/** Sends nothing while an admin must consent. Contract: 7, consent. */
export async function continueHandshake(deps: HandshakeDeps, offered: Peer): Promise<void> {
  if (await isConsented(deps.orm.em.fork(), offered)) return void (await attemptHandshake(deps, offered))
  await withPeer(deps, { origin: offered.origin }, async (_em, current) => {
    if (current && isUnderWay(current, offered)) repeatLater(current, new Date(deps.clock.now()))
  })
}

/** Tries to prove the secret after any answer: an earlier answer may be lost. Contract: 7, handshake, asking. */
export async function attemptHandshake(deps: HandshakeDeps, offered: Peer, requestId?: string): Promise<Attempt> {
  const answer = await postOffer(deps, offered, requestId)
  const { origin, secret } = offered
  const isHopeless = ['forbidden', 'unresolved', 'final', 'refused'].includes(answer.kind)
  const proof = isHopeless ? null : await proveSecret(deps, { origin, secrets: [secret], requestId })
  const peer = await withPeer(deps, { origin, requestId }, async (em, current) => {
    if (current && isUnderWay(current, offered)) await applyAnswer(deps, em, { current, offered, answer, proof })
    // A request of the peer may have proven the secret.
    const name = answer.kind === 'accepted' && answer.instanceName
    if (name && current?.isActive() && current.secret === offered.secret) current.instanceName = readableText(name)
    return current
  })
  deps.log.info({ requestId, origin, answer: answer.kind, status: peer?.status ?? 'none' }, 'peering offered')
  return { peer, answer, proof }
}

/**
 * After the decision of an admin, which is committed: an error would ask the admin to repeat what is done. Null: something
 * here failed, and the periodic task continues. Contract: 7, handshake, asking, consent.
 */
export async function tryHandshake(deps: HandshakeDeps, offered: Peer, requestId?: string): Promise<Attempt | null> {
  try {
    return await attemptHandshake(deps, offered, requestId)
  } catch (error) {
    deps.log.warn({ err: error, requestId, origin: offered.origin }, 'handshake continues later')
    return null
  }
}

function isUnderWay(current: Peer, offered: Peer): boolean {
  return current.isOffered() && current.secret === offered.secret
}

type AnsweredAttempt = Omit<Attempt, 'peer'> & { current: Peer; offered: Peer }

async function applyAnswer(
  deps: Pick<Deps, 'clock' | 'random'>,
  em: EntityManager,
  { current, offered, answer, proof }: AnsweredAttempt,
): Promise<void> {
  const now = new Date(deps.clock.now())
  if (proof?.proven && (await isConsented(em, current))) {
    return await activate(em, current, { secret: offered.secret, instanceId: proof.instanceId }, now)
  }
  const isWrong = !!proof && !proof.proven && proof.reason === 'wrong'
  // A token may have come during this attempt.
  const isPresented = current.presentedToken === offered.presentedToken
  if (answer.kind === 'queued') return awaitApproval(current, { answer, isPresented, now })
  if (answer.kind === 'final') return current.reject(answer.reason, newSecret(deps))
  if (answer.kind === 'accepted' && isWrong) return current.park('repeer_incomplete')
  const isKnownElsewhere = answer.kind === 'exists' && isWrong
  if (isKnownElsewhere) current.reason = 'remote_reset_required'
  if (answer.kind === 'refused' || answer.kind === 'forbidden') current.reason = 'refused_by_peer'
  // An admin initiates again. What a user caused is repeated.
  if ((isKnownElsewhere || answer.kind === 'forbidden') && current.adminDecided) {
    current.nextAttemptAt = isPresented ? null : now
    return
  }
  const isCrossed = answer.kind === 'in_progress' && isPresented
  repeatLater(current, now, isCrossed ? policy.crossedDelaysMs : policy.repeatDelaysMs)
}

type Queued = { answer: Extract<OfferAnswer, { kind: 'queued' }>; isPresented: boolean; now: Date }

export function awaitApproval(peer: Peer, { answer, isPresented, now }: Queued): void {
  peer.awaitApproval(answer.approvalToken === null ? null : hashToken(answer.approvalToken))
  if (isPresented) peer.presentedToken = null
  else peer.nextAttemptAt = now
}

/** `exists`: its admin must reset our peer, unless the proof holds. `in_progress`: its own offer is on its way here. */
type OfferAnswer =
  | { kind: 'accepted'; instanceName: string | null }
  | { kind: 'queued'; approvalToken: string | null }
  | { kind: 'final'; reason: 'refused_by_peer' | 'revoked_by_peer'; message: string }
  | { kind: 'exists' | 'refused'; message: string }
  | { kind: 'in_progress' | 'unreachable' | 'unresolved' | 'forbidden' }

/** What does not arrive is `unreachable`, and repeated. Contract: 7, handshake, asking. */
export async function postOffer(
  deps: Pick<Deps, 'orm' | 'config' | 'outbound'>,
  offered: Peer,
  requestId?: string,
): Promise<OfferAnswer> {
  const { outbound, config, orm } = deps
  const { origin, secret, presentedToken } = offered
  const { instanceName, instanceId } = await loadInstanceSettings(orm.em.fork())
  const offer = { sourceOrigin: config.publicAddress.origin, hmacSecret: secret, instanceName, instanceId }
  const body = JSON.stringify({ ...offer, ...(presentedToken && { approvalToken: presentedToken }) })
  const headers = { 'Content-Type': 'application/json', ...(requestId && { [requestIdHeader]: requestId }) }
  const { method, path } = endpoints.acceptPeer
  const request = { method, url: `${origin}${path}`, headers, body, timeoutMs: policy.offerTimeoutMs }
  try {
    return readOfferAnswer(await outbound.request(request))
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error
    const refused = error.kind === 'forbidden_address' || error.kind === 'invalid_url'
    return { kind: refused ? 'forbidden' : error.kind === 'unresolved' ? 'unresolved' : 'unreachable' }
  }
}

/** Existing instances of the first generation send this text without a code. protocol.md 2.2. */
const revokedText = 'Peering with this instance has been revoked'

/** A 2xx is only a hint: the proof decides. protocol.md 2.3. */
function readOfferAnswer(answer: OutboundAnswer): OfferAnswer {
  const json = jsonOf(answer)
  const text = (name: string) => (typeof json?.[name] === 'string' ? json[name] : null)
  const { status } = answer
  if (isSuccess(status) && !json) return { kind: 'refused', message: 'It is no instance' }
  if (status === 202) return { kind: 'queued', approvalToken: text('approvalToken') }
  if (isSuccess(status)) return { kind: 'accepted', instanceName: text('instanceName') }
  const message = messageOf(answer)
  const code = text('code')
  if (status === 409)
    return code === 'PEER_HANDSHAKE_IN_PROGRESS' ? { kind: 'in_progress' } : { kind: 'exists', message }
  const isRevoked = code === 'PEER_REVOKED' || text('error') === revokedText
  if (status === 403 && isRevoked) return { kind: 'final', reason: 'revoked_by_peer', message }
  if (status === 403 && code === 'PEERING_REQUIRES_APPROVAL')
    return { kind: 'final', reason: 'refused_by_peer', message }
  return status === 408 || status === 429 || status >= 500 ? { kind: 'unreachable' } : { kind: 'refused', message }
}
