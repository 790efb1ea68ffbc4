import { ApprovalRequest, loadInstanceSettings } from '@gatehouse/domain'
import { LockMode } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { judgeOffer, type Offer } from '../handshake/judge-offer.ts'
import { crossOffer, queueOffer } from '../handshake/keep-offer.ts'
import { proveSecret } from '../handshake/prove-secret.ts'
import { withPeer } from '../peers/with-peer.ts'
import { delayAfter, policy } from '../policy.ts'

/** A wrong offer is forgotten. Contract: 7, refusals of an offer. */
export async function proveStoredOffer(deps: Deps, stored: ApprovalRequest): Promise<void> {
  const { id, sourceOrigin: origin, secret, approvalToken } = stored
  if (!secret || !approvalToken) return
  const proof = await proveSecret(deps, { origin, secrets: [secret] })
  await withPeer(deps, origin, async (em, peer) => {
    const lockMode = LockMode.PESSIMISTIC_WRITE
    const request = await em.findOne(ApprovalRequest, { id, status: 'unproven', secret }, { lockMode })
    if (!request) return
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
