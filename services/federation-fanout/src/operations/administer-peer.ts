import type { ActingAdmin } from '@gatehouse/authority'
import { endpoints, type AuditAction } from '@gatehouse/contracts'
import { recordAudit } from '@gatehouse/database'
import { ApprovalRequest, Peer } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { proveSecret, type HandshakeDeps } from '../handshake/prove-secret.ts'
import { isSuccess, sendToPeer, tryExchange } from '../peers/exchange.ts'
import { isOtherInstance, parkReset, probePeer, rememberInstance, finishReset } from '../peers/peer-states.ts'
import { newSecret, withPeer, type Cause, type PeerDeps } from '../peers/with-peer.ts'
import { policy } from '../policy.ts'

type Input = { id: string; actor: ActingAdmin; requestId?: string | undefined }

/** Throws not_found, and like every act here as `assertCallerCurrent` does. Contract: 7, states of a peer. */
export async function revokePeer(deps: PeerDeps, input: Input): Promise<void> {
  await act(deps, { ...input, action: 'peer.revoked' }, (_em, peer) => {
    if (peer.status !== 'revoked') peer.revoke(newSecret(deps), new Date(deps.clock.now()))
  })
}

/** For revoked or rejected peers. Throws not_found, peer_state. */
export async function forgetPeer(deps: PeerDeps, input: Input): Promise<void> {
  await act(deps, { ...input, action: 'peer.forgotten' }, removeIn(['revoked', 'rejected']))
}

/** For peers that need attention. Throws not_found, peer_state. */
export async function resetPeer(deps: PeerDeps, input: Input): Promise<void> {
  await act(deps, { ...input, action: 'peer.reset' }, removeIn(['needs_attention']))
}

export async function setRotation(deps: PeerDeps, input: Input & { autoRotateIntervalDays: number }): Promise<Peer> {
  return await act(deps, { ...input, action: 'peer.changed' }, (_em, peer) =>
    peer.rotateEvery(input.autoRotateIntervalDays),
  )
}

/** Throws not_found, peer_state, rotation_refused, and remote_unreachable: the secret may be in force there. */
export async function rotatePeer(deps: HandshakeDeps, input: Input): Promise<Peer> {
  const { peer, isDone, isLost } = await rotateSecret(deps, input)
  if (isDone) return peer
  throw isLost ? refuse.remote_unreachable({ headers: { 'Retry-After': '5' } }) : refuse.rotation_refused()
}

/**
 * Stores the secret before sending: after a lost answer it counts and is sent again. Throws not_found, peer_state, and
 * as `assertCallerCurrent` does. protocol.md 2.8.
 */
export async function rotateSecret(deps: HandshakeDeps, { id, actor = null, requestId }: Cause & { id: string }) {
  const { origin } = await loadPeer(deps, id)
  const { peer, secret, isRepeated } = await withPeer(deps, { origin, actor, requestId }, async (_em, current) => {
    if (!current?.isActive()) throw refuse.peer_state()
    const repeated = current.nextSecret
    const offered = repeated ?? newSecret(deps)
    current.nextSecret = offered
    current.nextRotationAt = new Date(deps.clock.now() + policy.rotationRetryMs)
    return { peer: current, secret: offered, isRepeated: !!repeated }
  })
  const body = { newSecret: secret }
  const message = { endpoint: endpoints.rotatePeerSecret, body, timeoutMs: policy.messageTimeoutMs }
  const status = (await tryExchange(sendToPeer(deps, peer, message)))?.answer.status ?? 0
  const isLost = status === 0 || status >= 500
  const rotated = await withPeer(deps, { origin }, async (em, current) => {
    const now = deps.clock.now()
    const record = { action: 'peer.rotated', target: { type: 'peer', id }, detail: { origin, status } } as const
    if (current && actor) recordAudit(em, { ...record, actor, at: new Date(now) })
    if (!current || current.nextSecret !== secret) return current
    // A 409 to a repeated attempt may mean that the first one succeeded.
    const isUnknown = isLost || (isRepeated && (status === 409 || status === 401))
    if (isSuccess(status)) current.takeSecret(secret, new Date(now + policy.rotationOverlapMs), new Date(now))
    else if (!isUnknown) current.nextSecret = null
    return current
  })
  deps.log.info({ origin, status }, 'secret rotation sent')
  return { peer: rotated ?? peer, isDone: rotated?.secret === secret, isLost }
}

/** A repeated secret gets the same answer. Throws peer_unknown, rotation_running. protocol.md 2.8. */
export async function receiveRotation(deps: PeerDeps & Pick<Deps, 'log'>, { origin }: Peer, newSecret: string) {
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

/** A stopped peer must prove itself. Throws not_found, peer_state. protocol.md 2.6. */
export async function recheckPeer(deps: HandshakeDeps, input: Input): Promise<Peer> {
  const { requestId } = input
  const peer = await act(deps, { ...input, action: 'peer.rechecked' }, (_em, { status }) => {
    if (status !== 'unreachable' && status !== 'needs_attention') throw refuse.peer_state()
  })
  const check = peer.status === 'unreachable' ? probePeer : proveParked
  // A read after the commit could fail, and the repetition would be peer_state.
  const checked = await check(deps, peer, requestId)
  if (checked?.id !== input.id) throw refuse.not_found()
  return checked
}

async function proveParked(deps: HandshakeDeps, parked: Peer, requestId: string | undefined): Promise<Peer | null> {
  const { origin } = parked
  const proof = await proveSecret(deps, { origin, secrets: parked.secretsAt(deps.clock.now()), requestId })
  return await withPeer(deps, { origin, requestId }, async (em, peer) => {
    if (peer?.status !== 'needs_attention' || !proof.proven) return peer
    if (isOtherInstance(peer, proof.instanceId)) {
      await parkReset(em, peer)
      return peer
    }
    const now = new Date(deps.clock.now())
    peer.instanceId ??= proof.instanceId
    await finishReset(em, peer, now)
    peer.reconnect()
    peer.nextAttemptAt = now
    return peer
  })
}

/** Remembers the instanceId: its users may have accounts here. */
function removeIn(statuses: readonly Peer['status'][]) {
  return async (em: EntityManager, peer: Peer): Promise<void> => {
    if (!statuses.includes(peer.status)) throw refuse.peer_state()
    await rememberInstance(em, peer)
    await em.nativeDelete(ApprovalRequest, { sourceOrigin: peer.origin, status: { $ne: 'pending' } })
    em.remove(peer)
  }
}

async function act(
  deps: PeerDeps,
  { id, actor, requestId, action }: Input & { action: AuditAction },
  change: (em: EntityManager, peer: Peer) => Promise<void> | void,
): Promise<Peer> {
  const { origin } = await loadPeer(deps, id)
  return await withPeer(deps, { origin, actor, requestId }, async (em, peer) => {
    if (peer?.id !== id) throw refuse.not_found()
    const isRepeated = action === 'peer.revoked' && peer.status === 'revoked'
    await change(em, peer)
    const record = { action, actor, target: { type: 'peer' as const, id }, detail: { origin } }
    if (!isRepeated) recordAudit(em, { ...record, at: new Date(deps.clock.now()) })
    return peer
  })
}

async function loadPeer({ orm }: Pick<Deps, 'orm'>, id: string): Promise<Peer> {
  const peer = await orm.em.fork().findOne(Peer, { id })
  if (!peer) throw refuse.not_found()
  return peer
}
