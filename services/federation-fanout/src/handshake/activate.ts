import { changeRows, selectRows } from '@gatehouse/database'
import { ApprovalRequest, Peer, nextId } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import { hostOf } from '../peers/signature.ts'
import { readableText } from '../peers/remote-json.ts'

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
  if (proven.instanceId) {
    if (active.instanceId && active.instanceId !== proven.instanceId) await rememberInstance(em, active)
    active.instanceId = proven.instanceId
    await settleReset(em, active, now)
  }
  await settleRequests(em, proven.origin, now)
  await em.flush()
  return active
}

/** Requests of an origin that became a peer wait for nobody any more, in either direction. */
export async function settleRequests(em: EntityManager, origin: string, now: Date): Promise<void> {
  await em.nativeUpdate(
    ApprovalRequest,
    { sourceOrigin: origin, status: { $in: ['pending', 'unproven'] } },
    { status: 'approved', decidedAt: now, nextAttemptAt: null },
  )
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
    autoRotateIntervalDays: 90,
  })
  em.persist(peer)
  return peer
}

/**
 * After an admin's reset the instance came back: with the instanceId that it had, all is as before; with another one the
 * accounts of the instance that was lost are detached, by the periodic task. federation-wire.md 2.6.
 */
export async function settleReset(em: EntityManager, { origin, instanceId }: Peer, now: Date): Promise<void> {
  await changeRows(em, 'delete from peer_resets where origin = ? and instance_id = ?', [origin, instanceId])
  await changeRows(em, 'update peer_resets set new_instance_id = ?, next_attempt_at = ? where origin = ?', [
    instanceId,
    now,
    origin,
  ])
}

/** Remembers who the instance at this origin was, until it is a peer again. */
export async function rememberInstance(em: EntityManager, { origin, host, instanceId }: Peer): Promise<void> {
  if (!instanceId) return
  await changeRows(
    em,
    `insert into peer_resets (origin, host, instance_id) values (?, ?, ?)
     on conflict (origin) do nothing`,
    [origin, host, instanceId],
  )
}

/** The former instance of an origin that an admin has reset, if any. */
export async function loadReset(em: EntityManager, origin: string): Promise<{ instanceId: string } | undefined> {
  const sql = 'select instance_id as "instanceId" from peer_resets where origin = ?'
  const [row] = await selectRows<{ instanceId: string }>(em, sql, [origin])
  return row
}
