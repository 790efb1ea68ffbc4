import type { Peer } from '@gatehouse/domain'
import type { Deps } from '../deps.ts'
import { activatePending } from '../handshake/activate.ts'
import { isOffering } from '../handshake/offer.ts'
import { proveSecret } from '../handshake/prove-secret.ts'

/**
 * A signed request from an instance whose admin had to decide on our offer: proves the secret in the background and
 * makes the peer active. docs/decisions/peering.md.
 */
export function confirmPeering(deps: Deps, peer: Peer, requestId?: string): void {
  if (peer.status !== 'pending' || isOffering(peer, deps.clock.now())) return
  const { origin, secret } = peer
  deps.background.start(`confirm ${origin}`, async () => {
    const proof = await proveSecret(deps, { origin, secret }, requestId)
    if (!proof.proven) return
    await activatePending(deps, { origin, secret, instanceId: proof.instanceId })
    deps.log.info({ requestId, origin }, 'peer confirmed')
  })
}
