import { detachHome, endpoints } from '@gatehouse/contracts'
import { changeRows, loadInstanceSettings, nextId } from '@gatehouse/database'
import { ApprovalRequest, Peer, FederationDelivery, PeerReset } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { policy, repeatLater } from '../policy.ts'
import { isSuccess, jsonOf, readableText, tryExchange } from './exchange.ts'
import { hostOf } from './signature.ts'
import { withPeer, type PeerDeps } from './with-peer.ts'

/** Has no usable secret yet. */
export async function newPeer(em: EntityManager, origin: string, now: Date): Promise<Peer> {
  const pending = { secret: '', status: 'pending', createdAt: now, autoRotateIntervalDays: 90 } as const
  const peer = em.create(Peer, { id: await nextId(em), origin, host: hostOf(origin), ...pending })
  em.persist(peer)
  return peer
}

type Proven = { secret: string; instanceName?: string | null; instanceId?: string | null }

/** Approves the open requests of this origin too. Call it inside `withPeer`. protocol.md 2.6. */
export async function activate(em: EntityManager, peer: Peer, proven: Proven, now: Date): Promise<void> {
  const { secret, instanceName, instanceId = null } = proven
  peer.activate(secret, now)
  if (instanceName) peer.instanceName = readableText(instanceName)
  if (peer.instanceId !== instanceId) await rememberInstance(em, peer)
  peer.instanceId = instanceId
  if (instanceId) await finishReset(em, peer, now)
  await approveRequests(em, peer.origin, now)
  await em.flush()
}

/** An admin has decided, or no admin has to. Contract: 7, consent. */
export async function isConsented(em: EntityManager, { adminDecided }: Pick<Peer, 'adminDecided'>): Promise<boolean> {
  return adminDecided || (await loadInstanceSettings(em)).autoAcceptPeering
}

export async function approveRequests(em: EntityManager, origin: string, now: Date): Promise<void> {
  const open = { sourceOrigin: origin, status: { $in: ['pending', 'unproven'] } } as const
  await em.nativeUpdate(ApprovalRequest, open, { status: 'approved', decidedAt: now, nextAttemptAt: null })
}

/** Only signed messages and our own probes count. */
export function isOtherInstance({ instanceId }: Pick<Peer, 'instanceId'>, otherId: string | null | undefined): boolean {
  return !!instanceId && !!otherId && instanceId !== otherId
}

type InstanceSighting = { instanceId: string; requestId?: string | undefined }

/** The first instanceId stays. Another one parks the peer. Contract: 7, epoch answers; protocol.md 2.6. */
export async function noteInstance(
  deps: PeerDeps,
  origin: string,
  { instanceId, requestId }: InstanceSighting,
): Promise<void> {
  await withPeer(deps, { origin, requestId }, async (em, peer) => {
    if (peer?.status !== 'active' && peer?.status !== 'unreachable') return
    if (isOtherInstance(peer, instanceId)) return await parkReset(em, peer)
    if (peer.instanceId) return
    peer.instanceId = instanceId
    await finishReset(em, peer, new Date(deps.clock.now()))
  })
}

/** An answer activates it, another instanceId parks it. Null: it is gone. protocol.md 2.6, 2.7. */
export async function probePeer(
  deps: PeerDeps & Pick<Deps, 'outbound'>,
  { origin }: Peer,
  requestId?: string,
): Promise<Peer | null> {
  const instance = await readInstance(deps, origin)
  return await withPeer(deps, { origin, requestId }, async (em, peer) => {
    if (peer?.status !== 'unreachable') return peer
    const now = new Date(deps.clock.now())
    if (!instance) repeatLater(peer, now, policy.probeDelaysMs)
    else if (isOtherInstance(peer, instance.instanceId)) await parkReset(em, peer)
    else {
      peer.reconnect()
      await em.nativeUpdate(FederationDelivery, { peerId: peer.id }, { attempts: 0, nextAttemptAt: now })
    }
    return peer
  })
}

async function readInstance(
  { outbound }: Pick<Deps, 'outbound'>,
  origin: string,
): Promise<{ instanceId: string | null } | undefined> {
  const { method, path } = endpoints.instanceInfo
  const request = { method, url: `${origin}${path}`, timeoutMs: policy.messageTimeoutMs }
  const answer = await tryExchange(outbound.request(request))
  if (!answer || !isSuccess(answer.status)) return undefined
  const instanceId = jsonOf(answer)?.instanceId
  return { instanceId: typeof instanceId === 'string' ? instanceId : null }
}

/** Another instanceId makes the periodic task detach the old accounts. protocol.md 2.6. */
export async function finishReset(em: EntityManager, { origin, instanceId }: Peer, now: Date): Promise<void> {
  await em.nativeDelete(PeerReset, { origin, instanceId: instanceId ?? null })
  await em.nativeUpdate(PeerReset, { origin }, { newInstanceId: instanceId ?? null, nextAttemptAt: now })
}

export async function rememberInstance(em: EntityManager, { origin, host, instanceId }: Peer): Promise<void> {
  if (!instanceId) return
  const sql = `insert into peer_resets (origin, host, instance_id) values (?, ?, ?)
     on conflict (origin) do nothing`
  await changeRows(em, sql, [origin, host, instanceId])
}

/** Accounts made before the first sight belong to the former instance. protocol.md 2.6. */
export async function parkReset(em: EntityManager, peer: Peer): Promise<void> {
  await rememberInstance(em, peer)
  const sql = 'update peer_resets set seen_at = coalesce(seen_at, now()) where origin = ? and instance_id = ?'
  await changeRows(em, sql, [peer.origin, peer.instanceId])
  peer.park('peer_reset_detected')
}

export async function findFormerInstance(em: EntityManager, origin: string): Promise<string | undefined> {
  return (await em.findOne(PeerReset, { origin }, { fields: ['instanceId'], refresh: true }))?.instanceId
}

/**
 * Whether accounts of a former instance of the host still wait for their detachment. Until it is done nothing that the new
 * instance says may reach them. Contract: 7, Detached accounts.
 */
export async function isDetaching({ orm }: Pick<Deps, 'orm'>, { host }: Pick<Peer, 'host'>): Promise<boolean> {
  return (await orm.em.fork().count(PeerReset, { host, newInstanceId: { $ne: null } })) > 0
}

/** Repeated until identity has done it. Contract: 7, detached accounts; protocol.md 2.6. */
export async function detachFormerAccounts(
  { orm, bus, log }: Pick<Deps, 'orm' | 'bus' | 'log'>,
  origin: string,
): Promise<void> {
  const em = orm.em.fork()
  const replaced = { origin, newInstanceId: { $ne: null } }
  const reset = await em.findOne(PeerReset, replaced, { fields: ['host'] })
  if (!reset) return
  const { host } = reset
  await bus.request(detachHome, { host }, { timeoutMs: policy.profileCallTimeoutMs })
  await em.nativeDelete(PeerReset, replaced)
  log.info({ origin, host }, 'accounts of a former instance detached')
}
