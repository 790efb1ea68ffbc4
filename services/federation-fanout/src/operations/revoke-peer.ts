import { Peer, recordAudit } from '@gatehouse/domain'
import { commonErrors } from '@gatehouse/runtime'
import type { Actor, Deps } from '../deps.ts'
import { withPeer, type PeerDeps } from '../peers/with-peer.ts'
import { policy } from '../policy.ts'

/** Ends a peering from this side, at once; a second time changes nothing. Throws not_found. Contract: 7, peers. */
export async function revokePeer(deps: PeerDeps, input: { id: string; actor: Actor }): Promise<void> {
  const known = await deps.orm.em.fork().findOne(Peer, { id: input.id })
  if (!known) throw commonErrors.not_found()
  await withPeer(deps, known.origin, async (em, peer) => {
    if (!peer || peer.status === 'revoked') return
    const now = new Date(deps.clock.now())
    revokeSecret(deps, peer, now)
    recordAudit(em, {
      action: 'peer.revoked',
      actor: input.actor,
      target: { type: 'peer', id: peer.id },
      detail: { origin: peer.origin },
      at: now,
    })
    await em.flush()
  })
}

export function revokeSecret({ random }: Pick<Deps, 'random'>, peer: Peer, now: Date): void {
  peer.revoke(random.bytes(policy.secretBytes).toString('hex'), now)
}
