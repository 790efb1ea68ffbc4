import { ApprovalRequest, nextId, type InstanceSettings, type Peer, loadInstanceSettings } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import { type EntityManager, LockMode } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { newPeer, settleRequests } from './activate.ts'
import { type Offer, judgeOffer } from './judge-offer.ts'
import { proveSecret } from './prove-secret.ts'
import { newSecret, withPeer } from '../peers/with-peer.ts'
import { isSameSecret } from '../peers/signature.ts'
import { policy, delayAfter } from '../policy.ts'

type Kept = { offer: Offer; approvalToken: string; now: Date }

const after = (now: Date, ms: number) => new Date(now.getTime() + ms)

/** Posts our own offer again with the token of this 202. An unproven offer must not replace an earlier token. */
export function crossOffer(
  { config }: Pick<Deps, 'config'>,
  peer: Peer,
  { offer, approvalToken, now, isProven }: Kept & { isProven: boolean },
): void {
  if (isProven || !peer.presentedToken) peer.presentedToken = approvalToken
  const yields = offer.origin < config.publicAddress.origin
  peer.nextAttemptAt = after(now, yields ? policy.secondPassYieldMs : policy.secondPassDelayMs)
  peer.attempts = 0
}

type Proven = Kept & { peer: Peer | null; settings: InstanceSettings; instanceId: string }

/** With autoAcceptPeering our own offer is due, else an admin decides. Call it inside `withPeer`. */
export async function queueOffer(
  deps: Pick<Deps, 'random'>,
  em: EntityManager,
  { peer, settings, instanceId, ...kept }: Proven,
): Promise<void> {
  const { offer, approvalToken, now } = kept
  if (settings.autoAcceptPeering) {
    const answering = peer ?? (await newPeer(em, offer.origin, now))
    beginOffer(deps, answering, { adminDecided: false, presentedToken: approvalToken, now })
    if (offer.instanceName) answering.instanceName = offer.instanceName
    await settleRequests(em, offer.origin, now)
    return
  }
  const { sourceOrigin, direction } = { sourceOrigin: offer.origin, direction: 'inbound' as const }
  const waiting = await em.findOne(ApprovalRequest, { sourceOrigin, direction, status: 'pending' })
  const stated = { secret: offer.secret, approvalToken, instanceName: offer.instanceName, instanceId }
  if (waiting) em.assign(waiting, stated)
  else await createRequest(em, { sourceOrigin, status: 'pending', ...stated, ...lifetime(now) })
  await em.nativeDelete(ApprovalRequest, { sourceOrigin, direction, status: 'unproven' })
}

export function beginOffer(
  deps: Pick<Deps, 'random'>,
  peer: Peer,
  given: { adminDecided: boolean; presentedToken: string | null; now: Date },
): void {
  const { now, ...offer } = given
  peer.offer({ ...offer, secret: newSecret(deps), expiresAt: after(now, policy.handshakeLifetimeMs) }, now)
  if (offer.presentedToken) peer.nextAttemptAt = after(now, policy.secondPassDelayMs)
}

/** The first one stays: anybody can send another. Throws too_many_offers. Contract: 7, refusals of an offer. */
export async function keepUnproven(em: EntityManager, { offer, approvalToken, now }: Kept): Promise<void> {
  const { origin: sourceOrigin, secret, instanceName } = offer
  const known = await em.findOne(ApprovalRequest, { sourceOrigin, direction: 'inbound', status: 'unproven' })
  const due = after(now, policy.repeatDelaysMs[0])
  if (known) {
    if (!isSameSecret(known.secret ?? '', secret)) throw tooManyOffers()
    em.assign(known, { approvalToken, instanceName, attempts: 0, nextAttemptAt: due })
    return
  }
  // The lock is per origin: two origins at once may pass the limit by one.
  const kept = await em.count(ApprovalRequest, { status: 'unproven' })
  if (kept >= policy.unprovenOffersMax) throw tooManyOffers()
  const times = { createdAt: now, expiresAt: after(now, policy.unprovenOfferLifetimeMs), nextAttemptAt: due }
  await createRequest(em, { sourceOrigin, status: 'unproven', secret, approvalToken, instanceName, ...times })
}

const tooManyOffers = () => refuse.too_many_offers({ headers: { 'Retry-After': '3600' } })

const lifetime = (now: Date) => ({ createdAt: now, expiresAt: after(now, policy.handshakeLifetimeMs) })

type NewRequest = Pick<ApprovalRequest, 'sourceOrigin' | 'status' | 'secret' | 'createdAt' | 'expiresAt'> &
  Partial<Pick<ApprovalRequest, 'approvalToken' | 'instanceName' | 'instanceId' | 'nextAttemptAt'>>

async function createRequest(em: EntityManager, request: NewRequest): Promise<void> {
  em.create(ApprovalRequest, { id: await nextId(em), ...request })
  await em.flush()
}

/** A wrong offer is forgotten. Contract: 7, refusals of an offer. */
export async function proveStoredOffer(deps: Deps, stored: ApprovalRequest): Promise<void> {
  const { id, sourceOrigin: origin, secret, approvalToken } = stored
  if (!secret || !approvalToken) return
  const proof = await proveSecret(deps, { origin, secrets: [secret] })
  await withPeer(deps, origin, async (em, peer) => {
    const lockMode = LockMode.PESSIMISTIC_WRITE
    const request = await em.findOne(ApprovalRequest, { id, status: 'unproven' }, { lockMode })
    if (request?.secret !== secret) return
    const now = new Date(deps.clock.now())
    if (!proof.proven && proof.reason !== 'wrong') {
      request.attempts += 1
      request.nextAttemptAt = new Date(now.getTime() + delayAfter(policy.repeatDelaysMs, request.attempts))
      return
    }
    await em.remove(request).flush()
    if (!proof.proven) return
    const { instanceName = null } = request
    const offer: Offer = { origin, secret, instanceName, instanceId: proof.instanceId, approvalToken: null }
    const settings = await loadInstanceSettings(em)
    const own = deps.config.publicAddress.origin
    const verdict = judgeOffer(peer, offer, { own, autoAccept: settings.autoAcceptPeering })
    const kept = { offer, approvalToken, now }
    if (verdict === 'crosses' && peer) crossOffer(deps, peer, { ...kept, isProven: true })
    if (verdict === 'new') await queueOffer(deps, em, { ...kept, peer, settings, instanceId: proof.instanceId })
  })
}
