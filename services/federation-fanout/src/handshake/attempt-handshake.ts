import type { Peer } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { newSecret } from '../peers/new-secret.ts'
import { hashToken } from '../peers/signature.ts'
import { withPeer } from '../peers/with-peer.ts'
import { delayAfter, policy } from '../policy.ts'
import { activate, isConsented } from './activate.ts'
import { postOffer, type OfferAnswer } from './post-offer.ts'
import { proveSecret, type Proof } from './prove-secret.ts'

export type Attempt = { peer: Peer | null; answer: OfferAnswer; proof: Proof | null }

/** Sends nothing while an admin must consent. Contract: 7, consent. */
export async function continueHandshake(deps: Deps, offered: Peer): Promise<void> {
  if (await isConsented(deps.orm.em.fork(), offered)) return void (await attemptHandshake(deps, offered))
  await withPeer(deps, offered.origin, async (_em, current) => {
    if (current && isUnderWay(current, offered)) repeatLater(current, new Date(deps.clock.now()))
  })
}

/** Tries to prove the secret after any answer: an earlier answer may be lost. Contract: 7, handshake, asking. */
export async function attemptHandshake(deps: Deps, offered: Peer, requestId?: string): Promise<Attempt> {
  const answer = await postOffer(deps, offered, requestId)
  const { origin, secret } = offered
  const isHopeless = answer.kind === 'forbidden' || answer.kind === 'final' || answer.kind === 'refused'
  const proof = isHopeless ? null : await proveSecret(deps, { origin, secrets: [secret], requestId })
  const settleCurrent = async (em: EntityManager, current: Peer | null) => {
    if (current && isUnderWay(current, offered)) await settle(deps, em, { current, offered, answer, proof })
    return current
  }
  const peer = await withPeer(deps, origin, settleCurrent, { requestId })
  deps.log.info({ requestId, origin, answer: answer.kind, status: peer?.status ?? 'none' }, 'peering offered')
  return { peer, answer, proof }
}

function isUnderWay(current: Peer, offered: Peer): boolean {
  return current.isOffered() && current.secret === offered.secret
}

type Settling = Omit<Attempt, 'peer'> & { current: Peer; offered: Peer }

async function settle(deps: Deps, em: EntityManager, { current, offered, answer, proof }: Settling): Promise<void> {
  const now = new Date(deps.clock.now())
  if (proof?.proven && (await isConsented(em, current))) {
    const instanceName = answer.kind === 'accepted' ? answer.instanceName : null
    await activate(
      em,
      current,
      { origin: offered.origin, secret: offered.secret, instanceName, instanceId: proof.instanceId },
      now,
    )
    return
  }
  const isWrong = !!proof && !proof.proven && proof.reason === 'wrong'
  // A token may have come during this attempt.
  const isPresented = current.presentedToken === offered.presentedToken
  if (answer.kind === 'queued') return awaitApproval(current, { answer, isPresented, now })
  if (answer.kind === 'final') return current.reject('refused_by_peer', newSecret(deps))
  if (answer.kind === 'accepted' && isWrong) return current.park('repeer_incomplete')
  const isKnownElsewhere = answer.kind === 'exists' && isWrong
  const isRefused = isKnownElsewhere || answer.kind === 'refused' || answer.kind === 'forbidden'
  if (isRefused) current.reason = answer.kind === 'exists' ? 'remote_reset_required' : 'refused_by_peer'
  // An admin initiates again. What a user caused is repeated.
  if (isRefused && current.adminDecided) {
    current.nextAttemptAt = isPresented ? null : now
    return
  }
  repeatLater(current, now)
}

function repeatLater(peer: Peer, now: Date): void {
  peer.nextAttemptAt = new Date(now.getTime() + delayAfter(policy.repeatDelaysMs, peer.attempts))
  peer.attempts += 1
}

type Queued = { answer: OfferAnswer & { kind: 'queued' }; isPresented: boolean; now: Date }

export function awaitApproval(peer: Peer, { answer, isPresented, now }: Queued): void {
  peer.awaitApproval(answer.approvalToken === null ? null : hashToken(answer.approvalToken))
  if (isPresented) peer.presentedToken = null
  else peer.nextAttemptAt = now
}
