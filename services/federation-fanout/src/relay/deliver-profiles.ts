import type { Received, Subscription } from '@gatehouse/bus'
import { endpoints, relayReply, profileChanged } from '@gatehouse/contracts'
import { bigintArray, changeRows, loadInstanceSettings, read, claimDue } from '@gatehouse/database'
import { findNamedInstances, queueDeliveries } from '@gatehouse/deliveries'
import { Peer } from '@gatehouse/domain'
import { backoffMs } from '@gatehouse/runtime'
import type { Deps } from '../deps.ts'
import { isSuccess, jsonOf, sendToPeer, tryExchange, type SendDeps } from '../peers/exchange.ts'
import { withPeer, type PeerDeps } from '../peers/with-peer.ts'
import { policy } from '../policy.ts'
import { accountStateEvents, findNativeUser, listNativeUsers, profileEvent } from './native-profiles.ts'

type Delivery = { userId: string; version: number; attempts: number }

/** After these answers of a peer, an event is not sent again. protocol.md 3.2. */
const final = ['duplicate', 'recipient_not_found', 'attribution_mismatch', 'unknown_event_type', 'self_target_invalid']

/** The parameter is the time. */
export const dueDeliveries = `federation_deliveries d join peers p on p.id = d.peer_id
    where d.next_attempt_at <= ? and p.status = 'active'`

export async function deliverDue(deps: SendDeps & PeerDeps & Pick<Deps, 'background'>): Promise<void> {
  const sql = `select distinct p.id::text as id from ${dueDeliveries}`
  const peers = await read<{ id: string }>(deps.orm.em.fork(), sql, [new Date(deps.clock.now())])
  if (peers.length === 0) return
  const { instanceId } = await loadInstanceSettings(deps.orm.em.fork())
  for (const { id } of peers) {
    deps.background.start(`relay ${id}`, async () => {
      while (await deliverBatch(deps, id, instanceId));
    })
  }
}

/** True: more may be due. */
async function deliverBatch(deps: SendDeps & PeerDeps, peerId: string, instanceId: string): Promise<boolean> {
  const em = deps.orm.em.fork()
  const peer = await em.findOne(Peer, { id: peerId, status: 'active' })
  if (!peer) return false
  const deliveries = await claim(deps, peerId)
  if (deliveries.length === 0) return false
  const living = await listNativeUsers(em, { id: { $in: deliveries.map(({ userId }) => userId) } })
  const events = new Map(
    living.map((user) => [user.id, [profileEvent(deps.config, user), ...accountStateEvents(deps.config, user)]]),
  )
  const source = { sourceInstance: deps.config.publicAddress.origin, sourceInstanceId: instanceId }
  const body = { version: 1, ...source, events: [...events.values()].flat() }
  const { status, ended } = living.length > 0 ? await post(deps, peer, body) : nothingSent
  const isOver = ({ userId }: Delivery) => events.get(userId)?.every(({ messageId }) => ended.has(messageId)) ?? true
  await finish(deps, peerId, { over: deliveries.filter(isOver), kept: deliveries.filter((one) => !isOver(one)) })
  if (living.length > 0) await countOutcome(deps, peer.origin, status)
  return isSuccess(status) && deliveries.length === policy.usersPerDelivery
}

/** One replica holds each delivery until the lease ends. */
async function claim({ orm, clock }: Pick<Deps, 'orm' | 'clock'>, peerId: string): Promise<Delivery[]> {
  const key = 'peer_id, user_id'
  const queue = { table: 'federation_deliveries', key, where: 'peer_id = ?', parameters: [peerId] }
  const size = { leaseMs: policy.leaseMs, most: policy.usersPerDelivery }
  const returning = 'user_id::text as "userId", version::float8 as version, attempts'
  return await claimDue<Delivery>(orm.em.fork(), queue, { ...size, now: clock.now(), returning })
}

type Outcome = { status: number; ended: Set<string> }

const nothingSent: Outcome = { status: 200, ended: new Set() }

async function post(deps: SendDeps, peer: Peer, body: object): Promise<Outcome> {
  const message = { endpoint: endpoints.relay, body, timeoutMs: policy.relayTimeoutMs }
  const exchange = await tryExchange(sendToPeer(deps, peer, message))
  if (!exchange) return { ...nothingSent, status: 0 }
  const { status } = exchange.answer
  const said = relayReply.safeParse(jsonOf(exchange.answer)).data
  if (!isSuccess(status) || !said) return { ...nothingSent, status }
  const refused = said.rejected.filter(({ reason }) => final.includes(reason))
  return { status, ended: new Set([...said.accepted, ...refused.map(({ messageId }) => messageId)]) }
}

/** What changed meanwhile has another version: it stays, and is due. */
async function finish(
  deps: Pick<Deps, 'orm' | 'clock'>,
  peerId: string,
  { over, kept }: { over: Delivery[]; kept: Delivery[] },
) {
  const em = deps.orm.em.fork()
  const users = bigintArray(over.map(({ userId }) => userId))
  const versions = bigintArray(over.map(({ version }) => String(version)))
  const remove = `delete from federation_deliveries as d using unnest(?::bigint[], ?::bigint[]) as done (user_id, version)
    where d.peer_id = ? and d.user_id = done.user_id and d.version = done.version`
  const isOneNewer = over.length > 0 && (await changeRows(em, remove, [users, versions, peerId])) < over.length
  if (isOneNewer) {
    const sql = 'update federation_deliveries set next_attempt_at = ? where peer_id = ? and user_id = any(?::bigint[])'
    await changeRows(em, sql, [new Date(deps.clock.now()), peerId, users])
  }
  for (const { userId, version, attempts } of kept) {
    const next = new Date(deps.clock.now() + backoffMs(attempts, policy.deliveryDelaysMs))
    const sql = `update federation_deliveries set attempts = attempts + 1, next_attempt_at = ?
      where peer_id = ? and user_id = ? and version = ?`
    await changeRows(em, sql, [next, peerId, userId, version])
  }
}

/** Ten failures: unreachable. Five refusals: an admin is needed. A success clears both. */
async function countOutcome(deps: PeerDeps, origin: string, status: number): Promise<void> {
  if (isSuccess(status)) return await recordSuccess(deps, origin)
  await withPeer(deps, { origin }, async (_em, peer) => {
    if (peer?.status !== 'active') return
    const now = new Date(deps.clock.now())
    if (status === 401 || status === 403) {
      peer.refusedDeliveries += 1
      if (peer.refusedDeliveries >= policy.refusalsUntilAttention) peer.park('deliveries_refused')
    } else {
      peer.failedDeliveries += 1
      if (peer.failedDeliveries >= policy.failuresUntilUnreachable) peer.becomeUnreachable(now)
    }
  })
}

/** It changes no status, so nothing is locked or announced. */
async function recordSuccess({ orm, clock }: Pick<Deps, 'orm' | 'clock'>, origin: string): Promise<void> {
  const cleared = { failedDeliveries: 0, refusedDeliveries: 0, seenAt: new Date(clock.now()) }
  await orm.em.fork().nativeUpdate(Peer, { origin, status: 'active' }, cleared)
}

/** The group shares the events: one replica queues each change. Contract: 7, profiles. */
export async function consumeProfileChanges(
  deps: Pick<Deps, 'orm' | 'bus' | 'clock' | 'maintenance'>,
): Promise<Subscription> {
  const onChange = async ({ payload: { userId } }: Received<typeof profileChanged>) => {
    if (await enqueueProfile(deps, userId)) void deps.maintenance.runNow()
  }
  return await deps.bus.subscribe(profileChanged, onChange, { group: 'federation-profiles' })
}

/** Returns how many peers. Contract: 7, Profiles. */
export async function enqueueProfile({ orm, clock }: Pick<Deps, 'orm' | 'clock'>, userId: string): Promise<number> {
  const em = orm.em.fork()
  const user = await findNativeUser(em, { id: userId })
  if (!user) return 0
  const origins = (await findNamedInstances(em, [user])).get(userId) ?? new Set()
  return await queueDeliveries(em, { userId, origins, version: user.profileUpdatedAt, now: clock.now() })
}
