import { ApprovalRequest, Peer, loadInstanceSettings, nextId } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import { readableText } from '../peers/exchange.ts'
import { rememberInstance, settleReset } from '../peers/instance.ts'
import { hostOf } from '../peers/signature.ts'

type Proven = { secret: string; instanceName?: string | null; instanceId?: string | null }

/** Settles the requests of this origin. Call it inside `withPeer`. federation-wire.md 2.6. */
export async function activate(
  em: EntityManager,
  peer: Peer,
  { secret, instanceName, instanceId = null }: Proven,
  now: Date,
): Promise<void> {
  peer.activate(secret, now)
  if (instanceName) peer.instanceName = readableText(instanceName)
  if (peer.instanceId !== instanceId) await rememberInstance(em, peer)
  peer.instanceId = instanceId
  if (instanceId) await settleReset(em, peer, now)
  await settleRequests(em, peer.origin, now)
  await em.flush()
}

/** Contract: 7, consent. */
export async function isConsented(em: EntityManager, { adminDecided }: Pick<Peer, 'adminDecided'>): Promise<boolean> {
  return adminDecided || (await loadInstanceSettings(em)).autoAcceptPeering
}

export async function settleRequests(em: EntityManager, origin: string, now: Date): Promise<void> {
  const open = { sourceOrigin: origin, status: { $in: ['pending', 'unproven'] } } as const
  await em.nativeUpdate(ApprovalRequest, open, { status: 'approved', decidedAt: now, nextAttemptAt: null })
}

/** Has no usable secret yet. */
export async function newPeer(em: EntityManager, origin: string, now: Date): Promise<Peer> {
  const pending = { secret: '', status: 'pending', createdAt: now, autoRotateIntervalDays: 90 } as const
  const peer = em.create(Peer, { id: await nextId(em), origin, host: hostOf(origin), ...pending })
  em.persist(peer)
  return peer
}
