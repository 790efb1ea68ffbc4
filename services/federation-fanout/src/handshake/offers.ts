import { loadInstanceSettings, nextId } from '@gatehouse/database'
import { ApprovalRequest, type InstanceSettings, type Peer } from '@gatehouse/domain'
import { refuse, backoffMs } from '@gatehouse/runtime'
import { type EntityManager, LockMode } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { newPeer, approveRequests } from '../peers/peer-states.ts'
import { proveSecret, type HandshakeDeps } from './prove-secret.ts'
import { newSecret, withPeer } from '../peers/with-peer.ts'
import { hashToken, isSameSecret } from '../peers/signature.ts'
import { policy } from '../policy.ts'

/**
 * What this instance does with an offered secret. `judgeOffer` gives the verdict, from our row of the peer and the offer.
 *
 * | verdict     | when                                                   | answer | what happens next                        |
 * | ----------- | ------------------------------------------------------ | ------ | ---------------------------------------- |
 * | `new`       | no peer, it had refused us, or our offer lacks consent | 202    | `queueOffer`; not proven: `keepUnproven` |
 * | `crosses`   | our own offer is under way, with consent               | 202    | `crossOffer` sends ours again            |
 * | `completes` | the same, and it has the token of the origin's 202     | 200    | active with it; not proven: as `crosses` |
 * | `repeated`  | active with this secret                                | 200    | nothing; not proven: as `exists`         |
 * | `exists`    | active with another secret, unreachable or parked      | 409    | nothing: an admin must reset the peer    |
 * | `final`     | revoked, or rejected here                              | 403    | nothing: the other side gives up         |
 *
 * An offer whose secret is proven wrong is 403, unless it crosses ours. If each side has a token of the other one, the side
 * whose origin sorts first does not take the other's secret. Else both would change secrets, and they would not match.
 *
 * State: the row of the peer, and `approval_requests` (unproven, or waiting for an admin). Callers: accept-peering.ts judges
 * each offer before and after the proof; run-due.ts proves a stored one; decide-request.ts and initiate-peering.ts begin ours.
 *
 * What must never happen:
 * - An offered secret is put in force without a proof over a connection that we opened.
 * - An unproven offer replaces an earlier secret or token. The first one stays until it is proven wrong, or expires.
 * - Two changes of one origin overlap, or the origin's lock is held during a call to another instance: `withPeer`.
 *
 * docs/decisions/peering.md, docs/federation/protocol.md 2.4, 2.5, 7.2.
 */

/** The table above has them. Contract: 7, Handshake, asked. */
export type OfferVerdict = 'repeated' | 'exists' | 'final' | 'completes' | 'crosses' | 'new'

type OfferedFields = 'instanceName' | 'instanceId' | 'approvalToken'
export type Offer = { origin: string; secret: string } & Record<OfferedFields, string | null>

type JudgedFields = 'status' | 'reason' | 'secret' | 'adminDecided' | 'approvalTokenHash' | 'presentedToken' | 'origin'

export function judgeOffer(
  peer: Pick<Peer, JudgedFields> | null,
  { origin, secret, approvalToken }: Offer,
  { own, autoAccept }: { own: string; autoAccept: boolean },
): OfferVerdict {
  switch (peer?.status) {
    case undefined:
      return 'new'
    case 'active':
      return isSameSecret(peer.secret, secret) ? 'repeated' : 'exists'
    case 'unreachable':
    case 'needs_attention':
      return 'exists'
    case 'revoked':
      return 'final'
    case 'rejected':
      // What the other side refused, it may offer itself.
      return peer.reason?.endsWith('_by_peer') ? 'new' : 'final'
    case 'pending':
    case 'awaiting_approval': {
      if (!peer.adminDecided && !autoAccept) return 'new'
      const { approvalTokenHash: tokenHash, presentedToken } = peer
      const presentsToken = !!tokenHash && !!approvalToken && isSameSecret(hashToken(approvalToken), tokenHash)
      // Without this, both would take the other's secret. protocol.md 7.2.
      const yields = !!presentedToken && own < origin
      return presentsToken && !yields ? 'completes' : 'crosses'
    }
  }
}

type AnsweredOffer = { offer: Offer; approvalToken: string; now: Date }

const after = (now: Date, ms: number) => new Date(now.getTime() + ms)

/** Posts our own offer again with the token of this 202. An unproven offer must not replace an earlier token. */
export function crossOffer(
  { config }: Pick<Deps, 'config'>,
  peer: Peer,
  offered: AnsweredOffer & { isProven: boolean },
): void {
  const { offer, approvalToken, now, isProven } = offered
  if (isProven || !peer.presentedToken) peer.presentedToken = approvalToken
  const yields = offer.origin < config.publicAddress.origin
  peer.nextAttemptAt = after(now, yields ? policy.secondPassYieldMs : policy.secondPassDelayMs)
  peer.attempts = 0
}

type Proven = AnsweredOffer & { peer: Peer | null; settings: InstanceSettings; instanceId: string }

/** With autoAcceptPeering our own offer is due, else an admin decides. Call it inside `withPeer`. */
export async function queueOffer(deps: Pick<Deps, 'random'>, em: EntityManager, provenOffer: Proven): Promise<void> {
  const { offer, approvalToken, now, peer, settings, instanceId } = provenOffer
  const { origin: sourceOrigin, secret, instanceName } = offer
  if (settings.autoAcceptPeering) {
    const answering = peer ?? (await newPeer(em, sourceOrigin, now))
    beginOffer(deps, answering, { adminDecided: false, presentedToken: approvalToken, now })
    if (instanceName) answering.instanceName = instanceName
    return await approveRequests(em, sourceOrigin, now)
  }
  const inbound = { sourceOrigin, direction: 'inbound' } as const
  const waiting = await em.findOne(ApprovalRequest, { ...inbound, status: 'pending' })
  const fields = { secret, approvalToken, instanceName, instanceId }
  const times = { createdAt: now, expiresAt: after(now, policy.handshakeLifetimeMs) }
  if (waiting) em.assign(waiting, fields)
  else em.create(ApprovalRequest, { id: await nextId(em), sourceOrigin, status: 'pending', ...fields, ...times })
  await em.nativeDelete(ApprovalRequest, { ...inbound, status: 'unproven' })
}

export function beginOffer(
  deps: Pick<Deps, 'random'>,
  peer: Peer,
  { now, ...offer }: { adminDecided: boolean; presentedToken: string | null; now: Date },
): void {
  peer.offer({ ...offer, secret: newSecret(deps), expiresAt: after(now, policy.handshakeLifetimeMs) }, now)
  if (offer.presentedToken) peer.nextAttemptAt = after(now, policy.secondPassDelayMs)
}

/** The first one stays: anybody can send another. Throws too_many_offers. Contract: 7, refusals of an offer. */
export async function keepUnproven(em: EntityManager, { offer, approvalToken, now }: AnsweredOffer): Promise<void> {
  const { origin: sourceOrigin, secret, instanceName } = offer
  const earlier = await em.findOne(ApprovalRequest, { sourceOrigin, direction: 'inbound', status: 'unproven' })
  const due = after(now, policy.repeatDelaysMs[0])
  if (earlier) {
    if (!isSameSecret(earlier.secret ?? '', secret)) throw tooManyOffers()
    em.assign(earlier, { approvalToken, instanceName, attempts: 0, nextAttemptAt: due })
    return
  }
  // The lock is per origin: two origins at once may pass the limit by one.
  const unprovenCount = await em.count(ApprovalRequest, { status: 'unproven' })
  if (unprovenCount >= policy.unprovenOffersMax) throw tooManyOffers()
  const fields = { status: 'unproven', secret, approvalToken, instanceName } as const
  const times = { createdAt: now, expiresAt: after(now, policy.unprovenOfferLifetimeMs), nextAttemptAt: due }
  em.create(ApprovalRequest, { id: await nextId(em), sourceOrigin, ...fields, ...times })
}

const tooManyOffers = () => refuse.too_many_offers({ headers: { 'Retry-After': '3600' } })

/** A wrong offer is forgotten. Contract: 7, refusals of an offer. */
export async function proveStoredOffer(deps: HandshakeDeps, stored: ApprovalRequest): Promise<void> {
  const { id, sourceOrigin: origin, secret, approvalToken } = stored
  if (!secret || !approvalToken) return
  const proof = await proveSecret(deps, { origin, secrets: [secret] })
  await withPeer(deps, { origin }, async (em, peer) => {
    const lockMode = LockMode.PESSIMISTIC_WRITE
    const request = await em.findOne(ApprovalRequest, { id, status: 'unproven' }, { lockMode })
    if (request?.secret !== secret) return
    const now = new Date(deps.clock.now())
    if (!proof.proven && proof.reason !== 'wrong') {
      request.attempts += 1
      request.nextAttemptAt = after(now, backoffMs(request.attempts, policy.repeatDelaysMs))
      return
    }
    await em.remove(request).flush()
    if (!proof.proven) return
    const { instanceId } = proof
    const offer: Offer = { origin, secret, instanceName: request.instanceName ?? null, instanceId, approvalToken: null }
    const settings = await loadInstanceSettings(em)
    const own = deps.config.publicAddress.origin
    const verdict = judgeOffer(peer, offer, { own, autoAccept: settings.autoAcceptPeering })
    const answered = { offer, approvalToken, now }
    if (verdict === 'crosses' && peer) crossOffer(deps, peer, { ...answered, isProven: true })
    if (verdict === 'new') await queueOffer(deps, em, { ...answered, peer, settings, instanceId })
  })
}
