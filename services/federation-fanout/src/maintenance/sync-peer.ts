import { Peer } from '@gatehouse/domain'
import { OutboundFailure } from '@gatehouse/outbound'
import { endpoints, syncReply } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { settleReset } from '../handshake/activate.ts'
import { postOffer } from '../handshake/post-offer.ts'
import { proveSecret } from '../handshake/prove-secret.ts'
import { jsonOf } from '../peers/remote-json.ts'
import { sendToPeer } from '../peers/send-signed.ts'
import { withPeer } from '../peers/with-peer.ts'
import { delayAfter, policy } from '../policy.ts'
import { receiveEvents } from '../relay/receive-events.ts'
import { isOtherInstance } from './probe-peer.ts'

/**
 * After its activation a peer is asked who it is, if it has not said so, and for the profiles that changed. It shows as
 * well whether the peer holds us as active: epoch is answered in other states too. At 403 our offer is posted again; a peer
 * that refuses to the end needs an admin. federation-wire.md 2.5, 2.7.
 */
export async function syncPeer(deps: Deps, peer: Peer): Promise<void> {
  const isIdentified = !!peer.instanceId || (await learnInstance(deps, peer))
  const status = await readProfiles(deps, peer)
  const isAnswered = (status >= 200 && status <= 299) || status === 400 || status === 404
  const isDone = isAnswered && isIdentified
  if (status === 403) await postOffer(deps, peer)
  await withPeer(deps, peer.origin, async (_em, current) => {
    if (current?.status !== 'active' || current.secret !== peer.secret) return
    current.attempts = isDone ? 0 : current.attempts + 1
    const isOver = isDone || current.attempts >= policy.syncAttempts
    if (isOver && (status === 401 || status === 403)) return current.park('deliveries_refused')
    const due = new Date(deps.clock.now() + delayAfter(policy.repeatDelaysMs, current.attempts - 1))
    current.nextAttemptAt = isOver ? null : due
    if (isAnswered) current.presentedToken = null
  })
}

/** The status of the last answer, 0 when there was none. Every page is applied before its checkpoint is stored. */
async function readProfiles(deps: Deps, peer: Peer): Promise<number> {
  const { method, path } = endpoints.sync
  let since = peer.profileCheckpoint
  for (;;) {
    const body = { sinceTimestamp: since, limit: policy.syncPageSize, contextType: 'profile' }
    const message = { method, path, body, timeoutMs: policy.relayTimeoutMs }
    const answer = await sendToPeer(deps, peer, message).then(
      (exchange) => exchange.answer,
      (error: unknown) => {
        if (!(error instanceof OutboundFailure)) throw error
      },
    )
    if (answer?.status !== 200) return answer?.status ?? 0
    const page = syncReply.safeParse(jsonOf(answer))
    if (!page.success) return 502
    await receiveEvents(deps, peer, page.data.events)
    const { checkpoint, hasMore } = page.data
    const isForward = Number.isSafeInteger(checkpoint) && checkpoint > since
    if (isForward) {
      since = checkpoint
      await deps.orm.em.fork().nativeUpdate(Peer, { id: peer.id }, { profileCheckpoint: since })
    }
    if (!hasMore || !isForward) return 200
  }
}

/** A peer that a request of its own made active has not told its instanceId. Gives whether it has now. */
async function learnInstance(deps: Deps, { origin, secret }: Peer): Promise<boolean> {
  const proof = await proveSecret(deps, { origin, secrets: [secret] })
  if (proof.proven) await noteInstance(deps, origin, proof.instanceId)
  return proof.proven
}

/**
 * An instanceId that a signed message told: the first one stays, another one parks the peer until an admin has looked.
 * Contract: 7; federation-wire.md 2.6.
 */
export async function noteInstance(deps: Deps, origin: string, instanceId: string): Promise<void> {
  await withPeer(deps, origin, async (em, peer) => {
    if (peer?.status !== 'active' && peer?.status !== 'unreachable') return
    if (isOtherInstance(peer, instanceId)) return peer.park('peer_reset_detected')
    if (peer.instanceId) return
    peer.instanceId = instanceId
    await settleReset(em, peer, new Date(deps.clock.now()))
  })
}
