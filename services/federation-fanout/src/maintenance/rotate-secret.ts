import { endpoints } from '@gatehouse/contracts'
import { Peer, recordAudit } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { Deps } from '../deps.ts'
import { isSuccess, sendToPeer, tryExchange } from '../peers/exchange.ts'
import { newSecret, withPeer, type Cause } from '../peers/with-peer.ts'
import { policy } from '../policy.ts'

/**
 * Stores the secret before sending: after a lost answer it counts and is sent again. Throws not_found, peer_state, and
 * as `assertCallerCurrent` does. federation-wire.md 2.8.
 */
export async function rotateSecret(deps: Deps, { id, actor = null, requestId }: Cause & { id: string }) {
  const known = await deps.orm.em.fork().findOne(Peer, { id })
  if (!known) throw refuse.not_found()
  const cause = { origin: known.origin, actor, requestId }
  const { peer, secret, isRepeated } = await withPeer(deps, cause, async (_em, current) => {
    if (!current?.isActive()) throw refuse.peer_state()
    const repeated = current.nextSecret
    const offered = repeated ?? newSecret(deps)
    current.nextSecret = offered
    current.nextRotationAt = new Date(deps.clock.now() + policy.rotationRetryMs)
    return { peer: current, secret: offered, isRepeated: !!repeated }
  })
  const { origin } = peer
  const body = { newSecret: secret }
  const message = { endpoint: endpoints.rotatePeerSecret, body, timeoutMs: policy.messageTimeoutMs }
  const status = (await tryExchange(sendToPeer(deps, peer, message)))?.answer.status ?? 0
  const rotated = await withPeer(deps, { origin }, async (em, current) => {
    const now = deps.clock.now()
    const record = { action: 'peer.rotated', target: { type: 'peer', id }, detail: { origin, status } } as const
    if (current && actor) recordAudit(em, { ...record, actor, at: new Date(now) })
    if (!current || current.nextSecret !== secret) return current
    // A 409 to a repeated attempt may mean that the first one succeeded.
    const isUnknown = status === 0 || status >= 500 || (isRepeated && (status === 409 || status === 401))
    if (isSuccess(status)) current.takeSecret(secret, new Date(now + policy.rotationOverlapMs), new Date(now))
    else if (!isUnknown) current.nextSecret = null
    return current
  })
  deps.log.info({ origin, status }, 'secret rotation sent')
  return { peer: rotated ?? peer, isDone: rotated?.secret === secret }
}

/** A repeated secret gets the same answer. Throws peer_unknown, rotation_running. federation-wire.md 2.8. */
export async function receiveRotation(deps: Deps, { origin }: Peer, newSecret: string) {
  await withPeer(deps, { origin }, async (_em, peer) => {
    if (!peer?.isActive()) throw refuse.peer_unknown()
    if (peer.secret === newSecret) return
    const now = deps.clock.now()
    const isRunning = peer.nextSecret || (peer.previousSecretUntil?.getTime() ?? 0) > now
    if (isRunning) throw refuse.rotation_running()
    peer.takeSecret(newSecret, new Date(now + policy.rotationOverlapMs), new Date(now))
  })
  deps.log.info({ origin }, 'secret rotated by its peer')
  return { accepted: true as const, gracePeriodMs: policy.rotationGraceMs }
}
