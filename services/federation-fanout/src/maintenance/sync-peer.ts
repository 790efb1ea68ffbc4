import { Peer } from '@gatehouse/domain'
import { endpoints, syncReply } from '@gatehouse/contracts'
import { backoffMs } from '@gatehouse/runtime'
import type { Deps } from '../deps.ts'
import { awaitApproval, postOffer } from '../handshake/attempt-handshake.ts'
import { proveSecret, type HandshakeDeps, type ProofDeps } from '../handshake/prove-secret.ts'
import { isSuccess, jsonOf, sendToPeer, tryExchange, type SendDeps } from '../peers/exchange.ts'
import { isDetaching, noteInstance } from '../peers/peer-states.ts'
import { newSecret, withPeer } from '../peers/with-peer.ts'
import { policy } from '../policy.ts'
import { later, receiveEvents } from '../relay/receive-events.ts'

/** After a 403 our offer is posted again. If refused, an admin must decide. protocol.md 2.3, 2.5, 2.7. */
export async function syncPeer(deps: HandshakeDeps & Pick<Deps, 'bus'>, peer: Peer): Promise<void> {
  const isIdentified = !!peer.instanceId || (await learnInstance(deps, peer))
  const { status, hasMore } = await readProfiles(deps, peer)
  const isAnswered = isSuccess(status) || status === 400 || status === 404
  const isDone = isAnswered && isIdentified
  const answer = status === 403 && (await isUnchanged(deps, peer)) ? await postOffer(deps, peer) : null
  await withPeer(deps, { origin: peer.origin }, async (_em, current) => {
    if (current?.status !== 'active' || current.secret !== peer.secret) return
    const isPresented = current.presentedToken === peer.presentedToken
    const now = new Date(deps.clock.now())
    if (answer?.kind === 'queued') return awaitApproval(current, { answer, isPresented, now })
    if (answer?.kind === 'final') return current.reject(answer.reason, newSecret(deps))
    // A token that came meanwhile is due already.
    if (!isPresented) return
    if (isDone) current.see(now)
    if (isDone && !hasMore) current.syncedAt = now
    current.attempts = isDone ? 0 : current.attempts + 1
    const isOver = (isDone && !hasMore) || current.attempts >= policy.syncAttempts
    if (isOver && (status === 401 || status === 403)) return current.park('deliveries_refused')
    const afterMs = isDone ? 0 : backoffMs(current.attempts - 1, policy.repeatDelaysMs)
    current.nextAttemptAt = isOver ? null : new Date(now.getTime() + afterMs)
    if (isAnswered) current.presentedToken = null
  })
}

/**
 * Applies each page before storing its checkpoint. A revocation meanwhile ends it. Gives the last status, 0 without an
 * answer or where identity could not apply it; `hasMore`: for the next run. protocol.md 2.1.
 */
async function readProfiles(
  deps: ProofDeps & Pick<Deps, 'bus'>,
  peer: Peer,
): Promise<{ status: number; hasMore: boolean }> {
  let since = peer.profileCheckpoint
  let afterId: string | undefined
  for (let pages = 0; pages < policy.syncPagesPerRun; pages += 1) {
    if (!(await isUnchanged(deps, peer))) return { status: 0, hasMore: false }
    const { status, page } = await askPage(deps, peer, { sinceTimestamp: since, ...(afterId && { afterId }) })
    if (!page || !(await isUnchanged(deps, peer))) return { status, hasMore: false }
    const { rejected } = await receiveEvents(deps, peer, { events: page.events })
    if (rejected.some(({ reason }) => reason === later.rejected)) return { status: 0, hasMore: false }
    const { checkpoint, checkpointId, hasMore } = page
    const isNext = checkpoint === since && checkpointId !== undefined && checkpointId !== afterId
    const isForward = Number.isSafeInteger(checkpoint) && (checkpoint > since || isNext)
    if (isForward) {
      since = checkpoint
      afterId = checkpointId
      await deps.orm.em.fork().nativeUpdate(Peer, stillActive(peer), { profileCheckpoint: since })
    }
    if (!hasMore || !isForward) return { status, hasMore: false }
  }
  return { status: 200, hasMore: true }
}

async function askPage(deps: SendDeps, peer: Peer, place: { sinceTimestamp: number; afterId?: string }) {
  const body = { ...place, limit: policy.syncPageSize, contextType: 'profile' }
  const message = { endpoint: endpoints.sync, body, timeoutMs: policy.relayTimeoutMs }
  const exchange = await tryExchange(sendToPeer(deps, peer, message))
  if (exchange?.answer.status !== 200) return { status: exchange?.answer.status ?? 0 }
  const { data: page } = syncReply.safeParse(jsonOf(exchange.answer))
  return page ? { status: 200, page } : { status: 502 }
}

/** Each secret comes with its time: it is encrypted, so no query compares it. */
function stillActive({ id, rotatedAt = null }: Peer) {
  return { id, rotatedAt, status: 'active' } as const
}

/** Still the peer that it was, and what it says is about its own users. */
async function isUnchanged(deps: Pick<Deps, 'orm'>, peer: Peer): Promise<boolean> {
  if (await isDetaching(deps, peer)) return false
  return (await deps.orm.em.fork().count(Peer, stillActive(peer))) === 1
}

async function learnInstance(deps: HandshakeDeps, { origin, secret }: Peer): Promise<boolean> {
  const proof = await proveSecret(deps, { origin, secrets: [secret] })
  if (proof.proven) await noteInstance(deps, origin, proof)
  return proof.proven
}
