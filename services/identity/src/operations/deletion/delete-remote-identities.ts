import { assertCallerCurrent } from '@gatehouse/authority'
import { deleteIdentitiesAtPeers, normalizeOrigin, type DeletionMode, type fanoutBody } from '@gatehouse/contracts'
import { changeRows, transaction, claimDue } from '@gatehouse/database'
import { findHoldingInstances } from '@gatehouse/deliveries'
import { DeletionOrder, FederationCredential, FederationRegistry, User } from '@gatehouse/domain'
import { refuse, startPeriodicTask, Unavailable, type PeriodicTask, backoffMs } from '@gatehouse/runtime'
import { type EntityManager, LockMode } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps, OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { isPeerNamed } from '../../queries/list-orders.ts'
import { changeUser, recordProfileChange, type OwnAct } from '../change-account.ts'

type OrderDeps = OperationContext & Pick<Deps, 'bus'>
type Order = { userId: string; mode: DeletionMode; origins: readonly string[] }
type Times = { givenAt: number; firstAttemptAt: number }
type DeletionResults = z.infer<typeof deleteIdentitiesAtPeers.reply>['results']
type Deletion = z.infer<typeof fanoutBody> & OwnAct

/**
 * Deletes the own identity at other instances, and forgets those where it is gone. Throws `Unavailable` where it is not
 * durable. Spec: federation-identity/delete; Contract: 7, fan-out, Deletion orders.
 */
export async function deleteRemoteIdentities(deps: OrderDeps, deletion: Deletion) {
  const { caller, mode, durable = false, requestId } = deletion
  const { userId } = caller
  // Sent requests cannot be taken back. Design: invariant 1.
  await transaction(deps.orm, async (em) => {
    await assertCallerCurrent(em, caller)
    const user = await em.findOne(User, { id: userId, homeInstance: null }, { fields: ['id'] })
    if (!user) throw refuse.not_at_home()
    const givenAt = deps.clock.now()
    const times = { givenAt, firstAttemptAt: givenAt + policy.orderLeaseMs }
    if (durable && mode !== 'leave') await giveOrders(em, { ...deletion, userId, mode }, times)
  })
  const results = await deleteAtOrigins(deps, deletion)
  await forgetGone(deps, { userId, mode, requestId }, results).catch((err: unknown) => {
    if (mode === 'leave') throw err
    // The identities are gone already. The next deletion repeats what failed.
    deps.log.warn({ requestId, userId, err }, 'replicated instances not updated after deletion')
  })
  return { results: Object.fromEntries(results.map(({ origin, result }) => [origin, result])) }
}

async function deleteAtOrigins(deps: OrderDeps, deletion: Deletion): Promise<DeletionResults> {
  const { caller, origins, mode, durable, requestId } = deletion
  if (mode === 'leave') return leaveAll(origins)
  const asked = { userId: caller.userId, mode, origins }
  return durable ? await carryOut(deps, asked, requestId) : await askFanout(deps, asked, requestId)
}

type Asked = z.input<typeof deleteIdentitiesAtPeers.request>

async function askFanout({ bus }: OrderDeps, asked: Asked, requestId?: string): Promise<DeletionResults> {
  const options = { requestId, timeoutMs: policy.fanoutCallTimeoutMs }
  return (await bus.request(deleteIdentitiesAtPeers, asked, options)).results
}

const noPeer = 'no_active_peer'

/** Sends nothing: the user only forgets the instance. protocol.md 3.1. */
function leaveAll(origins: readonly string[]): DeletionResults {
  const unknown = { success: false as const, error: noPeer }
  return origins.map((origin) => ({ origin, result: normalizeOrigin(origin) ? { success: true } : unknown }))
}

type Forgetting = Omit<ForgottenInstances, 'origins'>

async function forgetGone(deps: OperationContext, forgetting: Forgetting, results: DeletionResults): Promise<void> {
  const origins = results.flatMap(({ origin, result }) => (result.success ? [origin] : []))
  await forgetInstances(deps, { ...forgetting, origins })
}

type ForgottenInstances = {
  userId: string
  origins: readonly string[]
  /** `leave`: the accounts there stay. */
  mode?: z.infer<typeof fanoutBody>['mode']
  requestId?: string | undefined
}

/**
 * Drops instances from a user's list and from the registry of the clients, and the passwords of accounts that are gone. A
 * deleted user has none. The spelling of an origin does not matter. Contract: 3, federation-credential; 7, fan-out.
 */
export async function forgetInstances(deps: OperationContext, forgotten: ForgottenInstances): Promise<void> {
  const { userId, origins, mode = 'leave', requestId } = forgotten
  if (origins.length === 0) return
  const spelling = (origin: string) => normalizeOrigin(origin) ?? origin
  const removed = new Set(origins.map(spelling))
  const isKept = ({ origin }: { origin: string }) => !removed.has(spelling(origin))
  await changeUser(deps, userId, async (user, em) => {
    if (!user || user.isDeleted) return
    if (mode !== 'leave') await em.nativeDelete(FederationCredential, { userId, origin: { $in: [...removed] } })
    const registry = await em.findOne(FederationRegistry, { userId })
    if (registry && !registry.entries.every(isKept)) {
      registry.entries = registry.entries.filter(isKept)
      // The later time tells clients of the change.
      registry.updatedAt = Math.max(deps.clock.now(), registry.updatedAt + 1)
    }
    if (user.replicatedInstances.every(isKept)) return
    user.replicatedInstances = user.replicatedInstances.filter(isKept)
    await recordProfileChange(em, deps, { user, changed: ['replicatedInstances'], requestId })
  })
  deps.afterCommit.publishEvents()
}

/**
 * By an admin, at all peers that may hold something of a native user, in the transaction that deletes it. The next run of orders
 * asks them. Gives how many. Contract: 5, DELETE users; 7, Deletion orders.
 */
export async function orderDeletions(
  em: EntityManager,
  { user, mode }: { user: User; mode: DeletionMode },
  now: number,
) {
  if (!user.isNative()) return 0
  const origins = [...(await findHoldingInstances(em, user))]
  return await giveOrders(em, { userId: user.id, mode, origins }, { givenAt: now, firstAttemptAt: now })
}

/** To peers alone. A repeated order begins anew; a full one that waits stays full. Gives how many. Contract: 7, Deletion orders. */
async function giveOrders(em: EntityManager, { userId, mode, origins }: Order, times: Times): Promise<number> {
  const named = [...new Set(origins.flatMap((origin) => normalizeOrigin(origin) ?? []))]
  const sql = `insert into deletion_orders (user_id, origin, mode, given_at, next_attempt_at)
    select ?::bigint, origin, ?, ?, ? from peers where ${isPeerNamed}
    on conflict (user_id, origin) do update set mode = case when deletion_orders.state = 'waiting'
        and deletion_orders.mode = 'full' then 'full' else excluded.mode end, given_at = excluded.given_at, state = 'waiting',
      next_attempt_at = excluded.next_attempt_at, attempts = 0, error = null, ended_at = null, receipt = null`
  const { givenAt, firstAttemptAt } = times
  const parameters = [userId, mode, new Date(givenAt), new Date(firstAttemptAt), JSON.stringify(named)]
  return await changeRows(em, sql, parameters)
}

/** Asks the peers. An order that no peer decided waits, also where the bus is away. Contract: 7, Deletion orders. */
async function carryOut(deps: OrderDeps, order: Order, requestId?: string): Promise<DeletionResults> {
  const { userId, mode, origins } = order
  const asked = { userId, mode, origins: [...origins], durable: true }
  const results = await askFanout(deps, asked, requestId).catch((error: unknown) => {
    if (!(error instanceof Unavailable)) throw error
    return readUnasked(deps, order)
  })
  await recordResults(deps, order, results)
  return results
}

/** Nothing is tried again where there is no order: its origin was no peer. */
async function readUnasked({ orm }: OrderDeps, { userId, origins }: Order): Promise<DeletionResults> {
  const named = origins.flatMap((origin) => normalizeOrigin(origin) ?? [])
  const where = { userId, origin: { $in: named }, state: 'waiting' } as const
  const orders = await orm.em.fork().find(DeletionOrder, where, { fields: ['origin'] })
  const waiting = new Set(orders.map(({ origin }) => origin))
  return origins.map((origin) => {
    const isOrdered = waiting.has(normalizeOrigin(origin) ?? '')
    const reason = isOrdered ? { error: 'unreachable', order: 'waiting' as const } : { error: noPeer }
    return { origin, result: { success: false, ...reason } }
  })
}

type Result = DeletionResults[number]['result']

const isWaiting = (result: Result) => !result.success && (result.error === noPeer || result.order === 'waiting')

/** An order waits until its peer is one again. Others of a silent instance wait with it. */
async function recordResults(deps: OrderDeps, { userId, mode }: Order, results: DeletionResults): Promise<void> {
  const now = deps.clock.now()
  const resultOf = new Map(results.map(({ origin, result }) => [normalizeOrigin(origin) ?? '', result]))
  const origins = [...resultOf.keys()]
  const silent = [...resultOf].flatMap(([origin, result]) => (isWaiting(result) ? [origin] : []))
  const retryAt = new Date(now + policy.orderBackoff.firstMs)
  await transaction(deps.orm, async (em) => {
    const waiting = { userId, mode, origin: { $in: origins }, state: 'waiting' } as const
    const lockMode = LockMode.PESSIMISTIC_WRITE
    for (const order of await em.find(DeletionOrder, waiting, { orderBy: { id: 'asc' }, lockMode })) {
      const result = resultOf.get(order.origin)
      if (result) recordResult(order, result, now)
    }
    await em.flush()
    const due = { origin: { $in: silent }, state: 'waiting', nextAttemptAt: { $lte: new Date(now) } } as const
    await em.nativeUpdate(DeletionOrder, due, { nextAttemptAt: retryAt })
  })
}

function recordResult(order: DeletionOrder, result: Result, now: number): void {
  const isOverdue = order.givenAt.getTime() <= now - policy.orderOverdueMs
  order.error = result.success ? null : result.error
  order.receipt = (result.success && result.receipt) || null
  if (isWaiting(result) && !isOverdue) {
    order.nextAttemptAt = new Date(now + backoffMs(order.attempts, policy.orderBackoff))
  } else {
    order.state = isWaiting(result) ? 'overdue' : result.success ? 'done' : 'refused'
    order.nextAttemptAt = null
    order.endedAt = new Date(now)
  }
  order.attempts += 1
}

type Due = { userId: string; mode: DeletionMode; origin: string }

/** Any number of replicas may run it. An attempt that a crash ended is repeated after its lease. */
export function startOrders(deps: OrderDeps & Pick<Deps, 'timer'>): PeriodicTask {
  const options = { name: 'deletion orders', everyMs: policy.orderIntervalMs, log: deps.log, timer: deps.timer }
  return startPeriodicTask(options, async () => {
    for (let due = await takeDue(deps); due.length > 0; due = await takeDue(deps)) {
      const deletions = Map.groupBy(due, ({ userId, mode }) => `${userId} ${mode}`)
      await Promise.all([...deletions.values()].map((orders) => repeat(deps, orders)))
    }
  })
}

async function repeat(deps: OrderDeps, orders: readonly Due[]): Promise<void> {
  const [first] = orders
  if (!first) return
  const results = await carryOut(deps, { ...first, origins: orders.map(({ origin }) => origin) })
  await forgetGone(deps, first, results)
}

const waitingOrders = { table: 'deletion_orders', key: 'id', where: "state = 'waiting'" }

async function takeDue({ orm, clock }: OrderDeps): Promise<Due[]> {
  const size = { leaseMs: policy.orderLeaseMs, most: policy.ordersAtOnce }
  const returning = 'user_id::text as "userId", mode, origin'
  return await transaction(orm, (em) => claimDue<Due>(em, waitingOrders, { ...size, now: clock.now(), returning }))
}
