import { endpoints } from '@gatehouse/contracts'
import { Peer, recordAudit } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { newSecret, withPeer, type Cause } from '../peers/with-peer.ts'
import { sendToPeer, tryExchange } from '../peers/send-signed.ts'
import { policy } from '../policy.ts'

type Input = Cause & { id: string }

export type Rotation = { peer: Peer; isDone: boolean }

/**
 * Stores the secret before sending: after a lost answer it counts and is sent again. Throws not_found, peer_state, and
 * as `assertCallerCurrent` does. federation-wire.md 2.8.
 */
export async function rotateSecret(deps: Deps, { id, actor = null, requestId }: Input): Promise<Rotation> {
  const known = await deps.orm.em.fork().findOne(Peer, { id })
  if (!known) throw refuse.not_found()
  const { origin } = known
  const begin = async (_em: EntityManager, current: Peer | null) => {
    if (!current?.isActive()) throw refuse.peer_state()
    const repeated = !!current.nextSecret
    const offered = current.nextSecret ?? newSecret(deps)
    current.nextSecret = offered
    current.nextRotationAt = new Date(deps.clock.now() + policy.rotationRetryMs)
    return { peer: current, secret: offered, isRepeated: repeated }
  }
  const { peer, secret, isRepeated } = await withPeer(deps, origin, begin, { actor, requestId })
  const status = await post(deps, peer, secret)
  const rotated = await withPeer(deps, origin, async (em, current) => {
    const now = deps.clock.now()
    const record = { action: 'peer.rotated', target: { type: 'peer', id }, detail: { origin, status } } as const
    if (current && actor) recordAudit(em, { ...record, actor, at: new Date(now) })
    if (!current || current.nextSecret !== secret) return current
    const isTaken = status >= 200 && status <= 299
    // A 409 to a repeated attempt may mean that the first one succeeded.
    const isUnknown = status === 0 || status >= 500 || (isRepeated && (status === 409 || status === 401))
    if (isTaken) current.takeSecret(secret, new Date(now + policy.rotationOverlapMs), new Date(now))
    else if (!isUnknown) current.nextSecret = null
    return current
  })
  deps.log.info({ origin, status }, 'secret rotation sent')
  return { peer: rotated ?? peer, isDone: rotated?.secret === secret }
}

async function post(deps: Deps, peer: Peer, secret: string): Promise<number> {
  const { method, path } = endpoints.rotatePeerSecret
  const message = { method, path, body: { newSecret: secret }, timeoutMs: policy.messageTimeoutMs }
  return (await tryExchange(sendToPeer(deps, peer, message)))?.answer.status ?? 0
}

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
