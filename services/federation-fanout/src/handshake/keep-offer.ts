import { ApprovalRequest, nextId, type InstanceSettings, type Peer } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { newSecret } from '../peers/new-secret.ts'
import { isSameSecret } from '../peers/signature.ts'
import { policy } from '../policy.ts'
import { newPeer, settleRequests } from './activate.ts'
import type { Offer } from './judge-offer.ts'

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
