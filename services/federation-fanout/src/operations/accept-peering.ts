import type { InstanceSettings, Peer } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { acceptPeerBody, acceptPeerPendingReply, acceptPeerReply } from '@gatehouse/contracts'
import { loadInstanceSettings } from '@gatehouse/database'
import type { Deps } from '../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { activate } from '../peers/peer-states.ts'
import { crossOffer, judgeOffer, keepUnproven, queueOffer, type Offer, type OfferVerdict } from '../handshake/offers.ts'
import { proveSecret, type Proof, type HandshakeDeps } from '../handshake/prove-secret.ts'
import { readableText } from '../peers/exchange.ts'
import { newSecret, readPeerOrigin, withPeer } from '../peers/with-peer.ts'

const notAccepted = { accepted: false, code: 'PEERING_REQUIRES_APPROVAL' } as const

type Body = z.infer<typeof acceptPeerBody>
type Input = Body & { requestId?: string | undefined }
type Reply = z.infer<typeof acceptPeerReply> | z.infer<typeof acceptPeerPendingReply>

/**
 * The secret counts only with a token that the origin gave us over https. Otherwise the offer is proven and answered
 * 202. Throws origin_invalid, origin_is_own, offer_exists, peering_final, origin_not_proven, too_many_offers. Contract:
 * 7, handshake, asked.
 */
export async function acceptPeering(deps: HandshakeDeps, { requestId, ...body }: Input): Promise<Reply> {
  const offer = readOffer(deps, body)
  const { origin } = offer
  const judge = async (em: EntityManager, peer: Peer | null) => {
    const settings = await loadInstanceSettings(em)
    const own = deps.config.publicAddress.origin
    return { settings, verdict: judgeOffer(peer, offer, { own, autoAccept: settings.autoAcceptPeering }) }
  }
  const first = await withPeer(deps, { origin }, judge)
  refuseAtOnce(first.verdict, first.settings)
  const proof = await proveSecret(deps, { origin, secrets: [offer.secret], requestId })
  // The other side must store the token first: the periodic task sends our offer.
  return await withPeer(deps, { origin, requestId }, async (em, peer): Promise<Reply> => {
    const { settings, verdict: current } = await judge(em, peer)
    const verdict = reconsiderOffer(current, { first: first.verdict, proof, peer })
    refuseAtOnce(verdict, settings)
    const isWrong = !proof.proven && proof.reason === 'wrong'
    if (isWrong && verdict !== 'crosses') throw refuse.origin_not_proven({ fields: notAccepted })
    const now = new Date(deps.clock.now())
    const { instanceName, instanceId } = settings
    const accepted = { accepted: true as const, instanceName, instanceId }
    if (verdict === 'repeated') return accepted
    if (peer && verdict === 'completes' && proof.proven) {
      await activate(em, peer, { ...offer, instanceId: proof.instanceId }, now)
      return accepted
    }
    const approvalToken = newSecret(deps)
    const answered = { offer, approvalToken, now }
    if (peer && verdict !== 'new') crossOffer(deps, peer, { ...answered, isProven: proof.proven })
    else if (proof.proven) await queueOffer(deps, em, { ...answered, peer, settings, instanceId: proof.instanceId })
    else await keepUnproven(em, answered)
    const message = 'This instance answers with an offer of its own, or waits for its admin to approve'
    return { queued: true, message, approvalToken }
  })
}

function readOffer({ config }: Pick<Deps, 'config'>, body: Body): Offer {
  const { sourceOrigin, hmacSecret: secret, instanceName: name, instanceId = null, approvalToken = null } = body
  const instanceName = name ? readableText(name) : null
  return { origin: readPeerOrigin(config, sourceOrigin), secret, instanceName, instanceId, approvalToken }
}

function refuseAtOnce(verdict: OfferVerdict, { instanceName, instanceId }: InstanceSettings): void {
  if (verdict === 'final') throw refuse.peering_final({ fields: notAccepted })
  if (verdict !== 'exists') return
  const code = 'PEER_EXISTS_RESET_REQUIRED'
  throw refuse.offer_exists({ fields: { accepted: false, code, instanceName, instanceId } })
}

type Earlier = { first: OfferVerdict; proof: Proof; peer: Peer | null }

/** A peer activated meanwhile is crossed: at a 409 it would give up. protocol.md 2.5. */
function reconsiderOffer(verdict: OfferVerdict, { first, proof, peer }: Earlier): OfferVerdict {
  const current = verdict === 'repeated' && !proof.proven ? 'exists' : verdict
  const isOvertaken = current === 'exists' && first !== 'repeated' && peer?.isActive()
  return isOvertaken ? 'crosses' : current
}
