import type { Peer } from '@gatehouse/domain'
import type { Deps } from '../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { withPeer } from '../peers/with-peer.ts'
import { policy } from '../policy.ts'

/** A repeated secret gets the same answer. Throws peer_unknown, rotation_running. federation-wire.md 2.8. */
export async function receiveRotation(deps: Deps, signer: Peer, newSecret: string) {
  await withPeer(deps, signer.origin, async (_em, peer) => {
    if (!peer?.isActive()) throw refuse.peer_unknown()
    if (peer.secret === newSecret) return
    const now = deps.clock.now()
    const isRunning = peer.nextSecret || (peer.previousSecretUntil?.getTime() ?? 0) > now
    if (isRunning) throw refuse.rotation_running()
    peer.takeSecret(newSecret, new Date(now + policy.rotationOverlapMs), new Date(now))
  })
  deps.log.info({ origin: signer.origin }, 'secret rotated by its peer')
  return { accepted: true as const, gracePeriodMs: policy.rotationGraceMs }
}
