import { loadInstanceSettings, type InstanceSettings, type Peer } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { acceptPeerBody, acceptPeerPendingReply, acceptPeerReply } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { activate } from '../handshake/activate.ts'
import { crossOffer, keepUnproven, queueOffer } from '../handshake/keep-offer.ts'
import { judgeOffer, type Offer, type OfferVerdict } from '../handshake/judge-offer.ts'
import { proveSecret, type Proof } from '../handshake/prove-secret.ts'
import { newSecret, readPeerOrigin, withPeer } from '../peers/with-peer.ts'
import { readableText } from '../peers/remote-json.ts'

const notAccepted = { accepted: false, code: 'PEERING_REQUIRES_APPROVAL' } as const

type Input = z.infer<typeof acceptPeerBody> & { requestId?: string | undefined }
type Reply = z.infer<typeof acceptPeerReply> | z.infer<typeof acceptPeerPendingReply>

/**
 * The secret counts only with a token that the origin gave us over https. Otherwise the offer is proven and answered
 * 202. Throws origin_invalid, origin_is_own, offer_exists, peering_final, origin_not_proven, too_many_offers. Contract:
 * 7, handshake, asked.
 */
export async function acceptPeering(deps: Deps, input: Input): Promise<Reply> {
  const offer = readOffer(deps, input)
  const { origin, secret } = offer
  const first = await withPeer(deps, origin, async (em, peer) => {
    const settings = await loadInstanceSettings(em)
    return { settings, verdict: judge(deps, { peer, offer, settings }) }
  })
  refuseAtOnce(first.verdict, first.settings)
  const proof = await proveSecret(deps, { origin, secrets: [secret], requestId: input.requestId })
  return await conclude(deps, { offer, proof, first: first.verdict }, input.requestId)
}

function readOffer({ config }: Deps, input: Input): Offer {
  return {
    origin: readPeerOrigin(config, input.sourceOrigin),
    secret: input.hmacSecret,
    instanceName: input.instanceName ? readableText(input.instanceName) : null,
    instanceId: input.instanceId ?? null,
    approvalToken: input.approvalToken ?? null,
  }
}

type Judged = { peer: Peer | null; offer: Offer; settings: InstanceSettings }

function judge({ config }: Deps, { peer, offer, settings }: Judged): OfferVerdict {
  return judgeOffer(peer, offer, { own: config.publicAddress.origin, autoAccept: settings.autoAcceptPeering })
}

function refuseAtOnce(verdict: OfferVerdict, settings: InstanceSettings): void {
  const { instanceName, instanceId } = settings
  if (verdict === 'final') throw refuse.peering_final({ fields: notAccepted })
  if (verdict !== 'exists') return
  throw refuse.offer_exists({
    fields: { accepted: false, code: 'PEER_EXISTS_RESET_REQUIRED', instanceName, instanceId },
  })
}

type Concluding = { offer: Offer; proof: Proof; first: OfferVerdict }

/** A peer activated meanwhile is crossed: at a 409 it would give up. federation-wire.md 2.5. */
function judgeAgain(verdict: OfferVerdict, { first, proof }: Concluding, peer: Peer | null): OfferVerdict {
  const judged = verdict === 'repeated' && !proof.proven ? 'exists' : verdict
  const isOvertaken = judged === 'exists' && first !== 'repeated' && peer?.isActive()
  return isOvertaken ? 'crosses' : judged
}

async function conclude(deps: Deps, concluding: Concluding, requestId: string | undefined): Promise<Reply> {
  const { offer, proof } = concluding
  const isWrong = !proof.proven && proof.reason === 'wrong'
  const answer = async (em: EntityManager, peer: Peer | null): Promise<Reply> => {
    const settings = await loadInstanceSettings(em)
    const verdict = judgeAgain(judge(deps, { peer, offer, settings }), concluding, peer)
    const now = new Date(deps.clock.now())
    refuseAtOnce(verdict, settings)
    if (isWrong && verdict !== 'crosses') {
      throw refuse.origin_not_proven({ fields: notAccepted })
    }
    const { instanceName, instanceId } = settings
    const accepted = { accepted: true as const, instanceName, instanceId }
    if (verdict === 'repeated') return accepted
    if (verdict === 'completes' && proof.proven) {
      await activate(em, peer, { ...offer, instanceId: proof.instanceId }, now)
      return accepted
    }
    const approvalToken = newSecret(deps)
    const message = 'This instance answers with an offer of its own, or waits for its admin to approve'
    const queued = { queued: true as const, message, approvalToken }
    const kept = { offer, approvalToken, now }
    if (peer && verdict !== 'new') crossOffer(deps, peer, { ...kept, isProven: proof.proven })
    else if (proof.proven) await queueOffer(deps, em, { ...kept, peer, settings, instanceId: proof.instanceId })
    else await keepUnproven(em, kept)
    return queued
  }
  // The other side must store the token first: the periodic task sends our offer.
  return await withPeer(deps, offer.origin, answer, { requestId })
}
