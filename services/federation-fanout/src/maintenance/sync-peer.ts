import { Peer } from '@gatehouse/domain'
import { endpoints, syncReply } from '@gatehouse/contracts'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { parkReset, settleReset } from '../handshake/activate.ts'
import { awaitApproval, postOffer } from '../handshake/attempt-handshake.ts'
import { proveSecret } from '../handshake/prove-secret.ts'
import { newSecret, withPeer } from '../peers/with-peer.ts'
import { jsonOf } from '../peers/remote-json.ts'
import { sendToPeer, tryExchange } from '../peers/send-signed.ts'
import { delayAfter, policy } from '../policy.ts'
import { receiveEvents } from '../relay/receive-events.ts'
import { isOtherInstance } from './probe-peer.ts'

/** After a 403 our offer is posted again. If refused, an admin must decide. federation-wire.md 2.3, 2.5, 2.7. */
export async function syncPeer(deps: Deps, peer: Peer): Promise<void> {
  const isIdentified = !!peer.instanceId || (await learnInstance(deps, peer))
  const { status, hasMore } = await readProfiles(deps, peer)
  const isAnswered = (status >= 200 && status <= 299) || status === 400 || status === 404
  const isDone = isAnswered && isIdentified
  const answer = status === 403 && (await isUnchanged(deps, peer)) ? await postOffer(deps, peer) : null
  await withPeer(deps, peer.origin, async (_em, current) => {
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
    const due = new Date(now.getTime() + delayAfter(policy.repeatDelaysMs, current.attempts - 1))
    current.nextAttemptAt = isOver ? null : due
    if (isAnswered) current.presentedToken = null
  })
}

/** The last status, 0 without an answer; `hasMore`: for the next run. */
type Reading = { status: number; hasMore: boolean }

/** Applies each page before storing its checkpoint. A revocation meanwhile ends it. federation-wire.md 2.1. */
async function readProfiles(deps: Deps, peer: Peer): Promise<Reading> {
  let since = peer.profileCheckpoint
  let afterId: string | undefined
  for (let pages = 0; pages < policy.syncPagesPerRun; pages += 1) {
    if (!(await isUnchanged(deps, peer))) return { status: 0, hasMore: false }
    const { status, page } = await askPage(deps, peer, { since, afterId })
    if (!page || !(await isUnchanged(deps, peer))) return { status, hasMore: false }
    await receiveEvents(deps, peer, { events: page.events })
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

type Page = z.infer<typeof syncReply>

type Place = { since: number; afterId: string | undefined }

async function askPage(deps: Deps, peer: Peer, { since, afterId }: Place): Promise<{ status: number; page?: Page }> {
  const { method, path } = endpoints.sync
  const body = {
    sinceTimestamp: since,
    ...(afterId && { afterId }),
    limit: policy.syncPageSize,
    contextType: 'profile',
  }
  const message = { method, path, body, timeoutMs: policy.relayTimeoutMs }
  const exchange = await tryExchange(sendToPeer(deps, peer, message))
  if (exchange?.answer.status !== 200) return { status: exchange?.answer.status ?? 0 }
  const page = syncReply.safeParse(jsonOf(exchange.answer))
  return page.success ? { status: 200, page: page.data } : { status: 502 }
}

/** Each secret comes with its time: it is encrypted, so no query compares it. */
function stillActive({ id, rotatedAt = null }: Peer) {
  return { id, rotatedAt, status: 'active' } as const
}

async function isUnchanged({ orm }: Deps, peer: Peer): Promise<boolean> {
  return (await orm.em.fork().count(Peer, stillActive(peer))) === 1
}

async function learnInstance(deps: Deps, { origin, secret }: Peer): Promise<boolean> {
  const proof = await proveSecret(deps, { origin, secrets: [secret] })
  if (proof.proven) await noteInstance(deps, origin, proof)
  return proof.proven
}

/** The first instanceId stays. Another one parks the peer. Contract: 7; federation-wire.md 2.6. */
export async function noteInstance(
  deps: Deps,
  origin: string,
  { instanceId, requestId }: { instanceId: string; requestId?: string | undefined },
): Promise<void> {
  const note = async (em: EntityManager, peer: Peer | null) => {
    if (peer?.status !== 'active' && peer?.status !== 'unreachable') return
    if (isOtherInstance(peer, instanceId)) return await parkReset(em, peer)
    if (peer.instanceId) return
    peer.instanceId = instanceId
    await settleReset(em, peer, new Date(deps.clock.now()))
  }
  await withPeer(deps, origin, note, { requestId })
}
