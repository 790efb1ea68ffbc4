import { judgeToken } from '@gatehouse/authority'
import { abortable } from '@gatehouse/runtime'
import type { OperationContext } from '../context.ts'
import type { SessionNode } from '../nodes/session-node.ts'
import { policy } from '../policy.ts'
import { idsOf, type LocalUser, type SessionRegistry } from '../sessions/session-registry.ts'
import { createVisibleUsers, type VisibleUsers } from './audience.ts'
import type { PresenceFeed, RemotePresences } from './presence-feed.ts'
import { createPresenceTracker, isIdle, needsWrite, type PresenceEvent, type PresenceState } from './presence-state.ts'
import { NodeNotRegistered, type PresenceStore, type UserSnapshot } from './presence-store.ts'

/**
 * Writes into PostgreSQL which users are connected to this node, and gives each handshake the account that it read.
 *
 * State. `pending`: the users of the next batches. `waiters`: one promise for each user, which all handshakes of the user
 * share. `answering`: the batches whose handshakes still wait for their audience. The tracker has the desired and the
 * recorded presence of each user (presence-state.ts).
 *
 * A batch is one transaction. It locks the rows of its users, accepts or rejects each user by the locked account, and
 * writes. After the commit it tells the feed. Then it reads what the handshakes may see, while the next batch runs.
 *
 * Callers. A handshake calls `userConnected`, then `markOnline`. A closed socket calls `userDisconnected`, the end of all
 * sessions calls `forceOffline`, and the node's heartbeat calls `resync`.
 *
 * What must never happen:
 * - Two batches write at the same time: the older one could win. `running` and the row locks exclude it.
 * - A handshake gets what was read before it asked. A batch takes its waiters first, and later ones wait for the next.
 * - An unconfirmed commit counts as done. Its users become `unknown` and are written again.
 * - A batch waits for a row that another transaction has locked. It skips the user and tries again.
 * - A node that was evicted writes under its old id. It registers again, writes all users, and closes its sockets.
 *
 * docs/decisions/presence.md.
 */

export type ConnectedUser = { snapshot: UserSnapshot; visible: VisibleUsers }

type Waiter = PromiseWithResolvers<ConnectedUser | undefined>

/** `planned`: to be changed by the last attempt. */
type Batch = { users: readonly LocalUser[]; planned: readonly LocalUser[] }

type ReconcilerDeps = Pick<OperationContext, 'log' | 'timer' | 'timings'> & {
  sessions: SessionRegistry
  presenceStore: PresenceStore
  feed: Pick<PresenceFeed, 'recorded'>
  node: Pick<SessionNode, 'id' | 'heartbeat'>
  remotePresences: Pick<RemotePresences, 'onlineIds'>
}

export type PresenceReconciler = ReturnType<typeof createPresenceReconciler>

/** One batch at a time keeps the order of changes, and many handshakes share statements. */
// eslint-disable-next-line max-lines-per-function -- one thing: its functions share its state
export function createPresenceReconciler(deps: ReconcilerDeps) {
  const { log, timer, timings, sessions, presenceStore: store, feed, node, remotePresences } = deps
  const tracker = createPresenceTracker(deps, enqueue)
  const waiters = new Map<string, Waiter>()
  const pending = new Set<LocalUser>()
  const answering = new Set<Promise<void>>()
  let syncedAs = node.id
  let onReRegistered = (): void => undefined
  let running: Promise<void> | undefined
  let scheduled: unknown
  let stopped = false

  /** Resolves with what was read after the call. Undefined: no such account. */
  function userConnected(user: LocalUser): Promise<ConnectedUser | undefined> {
    const waiter: Waiter = waiters.get(user.id) ?? Promise.withResolvers()
    waiters.set(user.id, waiter)
    enqueue(user)
    return waiter.promise
  }

  function apply(user: LocalUser, event: PresenceEvent): void {
    tracker.apply(user, event)
    enqueue(user)
  }

  function resync(): void {
    if (node.id === syncedAs) return
    syncedAs = node.id
    onReRegistered()
    for (const user of sessions.users()) apply(user, 'nodeReRegistered')
  }

  const isForgettable = (user: LocalUser) => user.sockets.size === 0 && isIdle(tracker.stateOf(user))

  /** Users with nothing to write are queued too, so that the next batch removes them. */
  function enqueue(user: LocalUser): void {
    if (!needsWrite(tracker.stateOf(user)) && !waiters.has(user.id) && !isForgettable(user)) return
    pending.add(user)
    schedule(timings.gatherMs)
  }

  function schedule(afterMs: number): void {
    if (running || stopped) return
    scheduled ??= timer.set(() => {
      scheduled = undefined
      running = reconcile()
    }, afterMs)
  }

  async function reconcile(): Promise<void> {
    // Handshakes wait here instead of in the database.
    if (answering.size >= policy.concurrentAnswers) await Promise.race(answering)
    const nextMs = await reconcileBatch()
    running = undefined
    if (pending.size > 0) schedule(nextMs)
  }

  async function reconcileBatch(): Promise<number> {
    const handshakes = new Map<LocalUser, Waiter>()
    const batch: Batch = { users: takeUsers(handshakes), planned: [] }
    if (batch.users.length === 0) return timings.gatherMs
    try {
      const result = await write(batch)
      finish(result, handshakes)
      return result.lockedElsewhere.size > 0 ? timings.lockedRetryMs : timings.gatherMs
    } catch (err) {
      log.warn({ err, users: batch.users.length }, 'presence write failed')
      for (const user of batch.planned) tracker.apply(user, 'commitUnconfirmed')
      for (const waiter of handshakes.values()) waiter.reject(err)
      return timings.databaseRetryMs
    } finally {
      for (const user of batch.users) enqueue(user)
    }
  }

  function takeUsers(handshakes: Map<LocalUser, Waiter>): LocalUser[] {
    const users: LocalUser[] = []
    for (const user of pending) {
      if (users.length >= policy.reconcileBatch) break
      pending.delete(user)
      // This batch may read older data than a later handshake needs.
      const waiter = waiters.get(user.id)
      waiters.delete(user.id)
      if (user.sockets.size === 0) waiter?.resolve(undefined)
      else if (waiter) handshakes.set(user, waiter)
      if (handshakes.has(user) || needsWrite(tracker.stateOf(user))) users.push(user)
      else if (isForgettable(user)) sessions.forget(user)
    }
    return users
  }

  /** A database that hangs delays the next batch by one limit for both attempts. */
  async function write(batch: Batch): Promise<BatchResult> {
    const limit = new AbortController()
    const expire = () => limit.abort(new Error(`presence was not written within ${timings.databaseLimitMs} ms`))
    const timeout = timer.set(expire, timings.databaseLimitMs)
    const attempt = () => writeOnce(batch, node.id, limit.signal)
    try {
      return await abortable(attempt, limit.signal)
    } catch (error) {
      if (!(error instanceof NodeNotRegistered)) throw error
      await abortable(() => node.heartbeat(), limit.signal)
      resync()
      return await abortable(attempt, limit.signal)
    } finally {
      timer.clear(timeout)
    }
  }

  type BatchResult = Awaited<ReturnType<typeof writeOnce>>

  /** Sends nothing after the abort of `signal`. Throws NodeNotRegistered. */
  async function writeOnce(batch: Batch, nodeId: string, signal: AbortSignal) {
    return await store.transaction(async (transaction) => {
      const snapshots = await transaction.lockUsers(idsOf(batch.users))
      const missing = batch.users.filter(({ id }) => !snapshots.has(id))
      const existing = new Set(await transaction.findExisting(idsOf(missing)))
      const lockedElsewhere = new Set(missing.filter(({ id }) => existing.has(id)))
      // A statement under way keeps its locks, so no later batch is first.
      signal.throwIfAborted()
      const free = batch.users.filter((user) => !lockedElsewhere.has(user))
      for (const user of free) tracker.apply(user, isAccepted(user, snapshots.get(user.id)) ? 'accepted' : 'rejected')
      const online = free.filter((user) => isPresent(tracker.stateOf(user)))
      const offline = free.filter((user) => isLeaving(tracker.stateOf(user)))
      batch.planned = [...online, ...offline]
      const changes = await transaction.write(nodeId, { online: idsOf(online), offline: idsOf(offline) })
      return { nodeId, snapshots, online, offline, lockedElsewhere, changes }
    })
  }

  function finish(result: BatchResult, handshakes: ReadonlyMap<LocalUser, Waiter>): void {
    // Rows under an id that the node has lost are gone, or will be.
    const isCurrent = result.nodeId === node.id
    for (const user of result.online) tracker.apply(user, isCurrent ? 'onlineRecorded' : 'commitUnconfirmed')
    for (const user of result.offline) tracker.apply(user, isCurrent ? 'offlineRecorded' : 'commitUnconfirmed')
    const toAnswer = new Map(handshakes)
    for (const user of result.lockedElsewhere) {
      const [waiter, later] = [handshakes.get(user), waiters.get(user.id)]
      if (waiter && later) void later.promise.then(waiter.resolve, waiter.reject)
      else if (waiter) waiters.set(user.id, waiter)
      toAnswer.delete(user)
    }
    feed.recorded(result.changes)
    if (toAnswer.size === 0) return
    const answer = answerHandshakes(result, toAnswer).finally(() => answering.delete(answer))
    answering.add(answer)
  }

  async function answerHandshakes({ snapshots }: BatchResult, handshakes: Map<LocalUser, Waiter>): Promise<void> {
    try {
      // Visibility is mutual.
      const present = { everywhereAnd: remotePresences.onlineIds() }
      const { all = [], linked = [] } = Object.groupBy(handshakes.keys(), (user) =>
        needsFullPresenceList(user) ? 'all' : 'linked',
      )
      const audience = await store.readAudience({ userIds: idsOf(all), linkedOnly: idsOf(linked) }, present)
      const visibleTo = createVisibleUsers(audience)
      for (const [user, waiter] of handshakes) {
        const snapshot = snapshots.get(user.id)
        waiter.resolve(snapshot && { snapshot, visible: visibleTo(user.id) })
      }
    } catch (err) {
      log.warn({ err, handshakes: handshakes.size }, 'online users not read')
      for (const waiter of handshakes.values()) waiter.reject(err)
    }
  }

  return {
    userConnected,
    markOnline: (user: LocalUser) => apply(user, 'accepted'),
    userDisconnected(user: LocalUser): void {
      if (!hasReadySocket(user)) apply(user, 'lastSocketClosed')
    },
    forceOffline: (user: LocalUser) => apply(user, 'forcedOut'),
    resync,
    /** `listener` runs before a user is written under the new id of the node. */
    onReRegistered: (listener: () => void): void => void (onReRegistered = listener),
    async [Symbol.asyncDispose](): Promise<void> {
      stopped = true
      tracker.stop()
      timer.clear(scheduled)
      await running
      await Promise.all(answering)
    },
  }
}

const isPresent = ({ desired, offlineAfter }: PresenceState) => desired === 'online' && offlineAfter === undefined
const isLeaving = (state: PresenceState) => state.desired === 'offline' && needsWrite(state)

/** The user needs a `ready` socket or a live token. */
function isAccepted({ sockets }: LocalUser, snapshot: UserSnapshot | undefined): boolean {
  if (!snapshot || snapshot.user.isDeleted) return false
  for (const { phase, session } of sockets) {
    if (phase === 'ready' || judgeToken(session, snapshot.state) === 'live') return true
  }
  return false
}

/** True while a handshake without `watched` is running. */
function needsFullPresenceList({ sockets }: LocalUser): boolean {
  for (const { phase, watched } of sockets) if (phase === 'authenticating' && !watched) return true
  return false
}

function hasReadySocket({ sockets }: LocalUser): boolean {
  for (const { phase } of sockets) if (phase === 'ready') return true
  return false
}
