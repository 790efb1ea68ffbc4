import { changeRows, read } from '@gatehouse/database'
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

/** Settles the requests of this origin. Call it inside `withPeer`. federation-wire.md 2.6. */
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

/** Contract: 7, consent. */
export async function isConsented(em: EntityManager, { adminDecided }: Pick<Peer, 'adminDecided'>): Promise<boolean> {
  return adminDecided || (await loadInstanceSettings(em)).autoAcceptPeering
}

export async function settleRequests(em: EntityManager, origin: string, now: Date): Promise<void> {
  await em.nativeUpdate(
    ApprovalRequest,
    { sourceOrigin: origin, status: { $in: ['pending', 'unproven'] } },
    { status: 'approved', decidedAt: now, nextAttemptAt: null },
  )
}

/** Has no usable secret yet. */
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

/** Another instanceId makes the periodic task detach the old accounts. federation-wire.md 2.6. */
export async function settleReset(em: EntityManager, { origin, instanceId }: Peer, now: Date): Promise<void> {
  await changeRows(em, 'delete from peer_resets where origin = ? and instance_id = ?', [origin, instanceId])
  await changeRows(em, 'update peer_resets set new_instance_id = ?, next_attempt_at = ? where origin = ?', [
    instanceId,
    now,
    origin,
  ])
}

export async function rememberInstance(em: EntityManager, { origin, host, instanceId }: Peer): Promise<void> {
  if (!instanceId) return
  await changeRows(
    em,
    `insert into peer_resets (origin, host, instance_id) values (?, ?, ?)
     on conflict (origin) do nothing`,
    [origin, host, instanceId],
  )
}

/** Accounts made before the first sight belong to the former instance. federation-wire.md 2.6. */
export async function parkReset(em: EntityManager, peer: Peer): Promise<void> {
  await rememberInstance(em, peer)
  const sql = 'update peer_resets set seen_at = coalesce(seen_at, now()) where origin = ? and instance_id = ?'
  await changeRows(em, sql, [peer.origin, peer.instanceId])
  peer.park('peer_reset_detected')
}

export async function loadReset(em: EntityManager, origin: string): Promise<{ instanceId: string } | undefined> {
  const sql = 'select instance_id as "instanceId" from peer_resets where origin = ?'
  const [row] = await read<{ instanceId: string }>(em, sql, [origin])
  return row
}
