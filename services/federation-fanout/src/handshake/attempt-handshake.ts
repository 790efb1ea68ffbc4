import type { Peer } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { newSecret } from '../peers/new-secret.ts'
import { hashToken } from '../peers/signature.ts'
import { withPeer } from '../peers/with-peer.ts'
import { delayAfter, policy } from '../policy.ts'
import { activate } from './activate.ts'
import { postOffer, type OfferAnswer } from './post-offer.ts'
import { proveSecret, type Proof } from './prove-secret.ts'

export type Attempt = { peer: Peer | null; answer: OfferAnswer; proof: Proof | null }

/**
 * One attempt at the handshake that is stored: posts the peer's secret, then tries to prove it whatever the answer is,
 * because the other side may hold it since an attempt whose answer was lost. Contract: 7, handshake, asking.
 */
export async function attemptHandshake(deps: Deps, offered: Peer, requestId?: string): Promise<Attempt> {
  const answer = await postOffer(deps, offered, requestId)
  const { origin, secret } = offered
  const isHopeless = answer.kind === 'forbidden' || answer.kind === 'final' || answer.kind === 'refused'
  const proof = isHopeless ? null : await proveSecret(deps, { origin, secrets: [secret], requestId })
  const peer = await withPeer(deps, origin, async (em, current) => {
    if (current && isUnderWay(current, offered)) await settle(deps, em, { current, offered, answer, proof })
    return current
  })
  deps.log.info({ requestId, origin, answer: answer.kind, status: peer?.status ?? 'none' }, 'peering offered')
  return { peer, answer, proof }
}

/** Meanwhile the peer may have been revoked, or have become active by a request or an offer of the other side. */
function isUnderWay(current: Peer, offered: Peer): boolean {
  return (current.status === 'pending' || current.status === 'awaiting_approval') && current.secret === offered.secret
}

type Settling = Omit<Attempt, 'peer'> & { current: Peer; offered: Peer }

async function settle(deps: Deps, em: EntityManager, { current, offered, answer, proof }: Settling): Promise<void> {
  const now = new Date(deps.clock.now())
  if (proof?.proven) {
    const instanceName = answer.kind === 'accepted' ? answer.instanceName : null
    await activate(
      em,
      current,
      { origin: offered.origin, secret: offered.secret, instanceName, instanceId: proof.instanceId },
      now,
    )
    return
  }
  // A token that came while this attempt was under way has not been presented yet.
  const isPresented = current.presentedToken === offered.presentedToken
  if (answer.kind === 'queued') return awaitApproval(current, { answer, isPresented, now })
  if (answer.kind === 'final') return current.reject('refused_by_peer', newSecret(deps))
  if (answer.kind === 'accepted' && proof?.reason === 'wrong') return current.park('repeer_incomplete')
  const isKnownElsewhere = answer.kind === 'exists' && proof?.reason === 'wrong'
  if (isKnownElsewhere || answer.kind === 'refused' || answer.kind === 'forbidden') {
    current.reason = answer.kind === 'exists' ? 'remote_reset_required' : 'refused_by_peer'
    current.nextAttemptAt = isPresented ? null : now
    return
  }
  current.attempts += 1
  current.nextAttemptAt = new Date(now.getTime() + delayAfter(policy.repeatDelaysMs, current.attempts - 1))
}

type Queued = { answer: OfferAnswer & { kind: 'queued' }; isPresented: boolean; now: Date }

function awaitApproval(peer: Peer, { answer, isPresented, now }: Queued): void {
  peer.awaitApproval(answer.approvalToken === null ? null : hashToken(answer.approvalToken))
  if (isPresented) peer.presentedToken = null
  else peer.nextAttemptAt = now
}
