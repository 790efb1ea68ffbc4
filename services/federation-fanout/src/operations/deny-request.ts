import { recordAudit } from '@gatehouse/domain'
import type { Actor } from '../deps.ts'
import { withPeer, type PeerDeps } from '../peers/with-peer.ts'
import { loadWaitingRequest } from '../queries/load-waiting-request.ts'
import { revokeSecret } from './revoke-peer.ts'

type Input = { id: string; actor: Actor }

/**
 * Turns a waiting instance away, and takes back an approval whose proof has not come through. It may ask again. Throws
 * not_found, request_decided. Contract: 7, approval requests.
 */
export async function denyRequest(deps: PeerDeps, input: Input): Promise<void> {
  const { sourceOrigin } = await loadWaitingRequest(deps.orm.em.fork(), input.id)
  await withPeer(deps, sourceOrigin, async (em, peer) => {
    const waiting = await loadWaitingRequest(em, input.id)
    const now = new Date(deps.clock.now())
    waiting.decide('denied', input.actor.userId, now)
    if (peer?.status === 'pending' && peer.secret === waiting.secret) revokeSecret(deps, peer, now)
    recordAudit(em, {
      action: 'approval-request.denied',
      actor: input.actor,
      target: { type: 'approval-request', id: input.id },
      detail: { origin: sourceOrigin },
      at: now,
    })
    await em.flush()
  })
}
