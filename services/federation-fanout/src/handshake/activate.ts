import { changeRows, selectRows } from '@gatehouse/database'
import { ApprovalRequest, Peer, loadInstanceSettings, nextId } from '@gatehouse/domain'
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
 * The peer with a proven secret; requests of its origin that wait for an admin are settled with it. Where nothing says which
 * instance it is, it may be another one than it was: that is remembered until it has been asked. Called inside `withPeer`,
 * whose peer it takes. federation-wire.md 2.6.
 */
export async function activate(em: EntityManager, peer: Peer | null, proven: Proven, now: Date): Promise<Peer> {
  const active = peer ?? (await newPeer(em, proven.origin, now))
  active.activate(proven.secret, now)
  if (proven.instanceName) active.instanceName = readableText(proven.instanceName)
  const { instanceId } = proven
  if (active.instanceId !== instanceId) await rememberInstance(em, active)
  active.instanceId = instanceId ?? null
  if (instanceId) await settleReset(em, active, now)
  await settleRequests(em, proven.origin, now)
  await em.flush()
  return active
}

/**
 * Whether a handshake may end in a peering: an admin decided it, or what users cause counts as well. Contract: 7, consent.
 */
export async function isConsented(em: EntityManager, { adminDecided }: Pick<Peer, 'adminDecided'>): Promise<boolean> {
  return adminDecided || (await loadInstanceSettings(em)).autoAcceptPeering
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

/**
 * Another instance was seen at this origin: the peer is parked. Who has an account here by now is the former one's user, who
 * comes later the other one's. The first sight counts, by the database's clock like registrations. federation-wire.md 2.6.
 */
export async function parkReset(em: EntityManager, peer: Peer): Promise<void> {
  await rememberInstance(em, peer)
  const sql = 'update peer_resets set seen_at = coalesce(seen_at, now()) where origin = ? and instance_id = ?'
  await changeRows(em, sql, [peer.origin, peer.instanceId])
  peer.park('peer_reset_detected')
}

/** The instance that an origin was, where it is or may be another one now. */
export async function loadReset(em: EntityManager, origin: string): Promise<{ instanceId: string } | undefined> {
  const sql = 'select instance_id as "instanceId" from peer_resets where origin = ?'
  const [row] = await selectRows<{ instanceId: string }>(em, sql, [origin])
  return row
}
