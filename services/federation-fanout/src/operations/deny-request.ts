import { recordAudit } from '@gatehouse/domain'
import type { Deps } from '../deps.ts'
import { withPeer } from '../peers/with-peer.ts'
import { findWaitingRequest } from '../queries/find-waiting-request.ts'
import type { Actor } from './actor.ts'
import { forgetSecret } from './revoke-peer.ts'

type Input = { id: string; actor: Actor }

/**
 * Turns a waiting instance away, and takes back an approval whose proof has not come through. It may ask again. Throws
 * not_found, request_decided. Contract: 7, approval requests.
 */
export async function denyRequest(deps: Pick<Deps, 'orm' | 'clock' | 'random'>, input: Input): Promise<void> {
  const { sourceOrigin } = await findWaitingRequest(deps.orm.em.fork(), input.id)
  await withPeer(deps, sourceOrigin, async (em, peer) => {
    const waiting = await findWaitingRequest(em, input.id)
    const now = new Date(deps.clock.now())
    waiting.decide('denied', input.actor.userId, now)
    if (peer?.status === 'pending' && peer.secret === waiting.secret) forgetSecret(deps, peer, now)
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
