import { ApprovalRequest, Peer, nextId } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import { refuse } from '../errors.ts'
import { hostOf } from '../peers/signature.ts'
import { readableText } from '../peers/remote-json.ts'
import { withPeer, type PeerDeps } from '../peers/with-peer.ts'

export type Proven = {
  origin: string
  secret: string
  instanceName?: string | null | undefined
  instanceId?: string | null | undefined
}

/**
 * The peer with a proven secret; requests of its origin that wait for an admin are settled with it. Called inside
 * `withPeer`, whose peer it takes.
 */
export async function activate(em: EntityManager, peer: Peer | null, proven: Proven, now: Date): Promise<Peer> {
  const active = peer ?? (await newPeer(em, proven.origin, now))
  active.activate(proven.secret, now)
  if (proven.instanceName) active.instanceName = readableText(proven.instanceName)
  if (proven.instanceId) active.instanceId = readableText(proven.instanceId)
  await em.nativeUpdate(
    ApprovalRequest,
    { sourceOrigin: proven.origin, status: 'pending' },
    { status: 'approved', decidedAt: now },
  )
  await em.flush()
  return active
}

/** A peer of which nothing is known but its origin. It has no usable secret yet: its maker gives it one. */
export async function newPeer(em: EntityManager, origin: string, now: Date): Promise<Peer> {
  const peer = em.create(Peer, {
    id: await nextId(em),
    origin,
    host: hostOf(origin),
    secret: '',
    status: 'pending',
    createdAt: now,
  })
  em.persist(peer)
  return peer
}

/**
 * Makes the pending peer active that still holds the proven secret; one that is active already stays as it is. Throws
 * handshake_overtaken when it was revoked or took another secret meanwhile.
 */
export async function activatePending(deps: PeerDeps, proven: Proven): Promise<Peer> {
  return await withPeer(deps, proven.origin, async (em, peer) => {
    if (peer?.status === 'active') return peer
    if (peer?.status !== 'pending' || peer.secret !== proven.secret) throw refuse.handshake_overtaken()
    return await activate(em, peer, proven, new Date(deps.clock.now()))
  })
}
