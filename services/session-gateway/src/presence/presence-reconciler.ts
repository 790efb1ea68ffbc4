import { abortable } from '@gatehouse/runtime'
import type { OperationContext } from '../context.ts'
import type { SessionNode } from '../nodes/session-node.ts'
import { policy } from '../policy.ts'
import type { LocalUser, SessionRegistry } from '../sessions/session-registry.ts'
import { createVisibleUsers, type VisibleUsers } from './audience.ts'
import { writeBatch, type BatchResult, type PresenceBatch } from './presence-batch.ts'
import type { PresenceFeed } from './presence-feed.ts'
import { PresenceTracker, isIdle, needsWrite, type PresenceEvent } from './presence-state.ts'
import { NodeNotRegistered, type PresenceStore, type UserSnapshot } from './presence-store.ts'
import type { RemotePresences } from './remote-presences.ts'
import { Waiters, type Waiter } from './waiters.ts'

export type ConnectedUser = { snapshot: UserSnapshot; visible: VisibleUsers }

type HandshakeWaiters = ReadonlyMap<LocalUser, Waiter<ConnectedUser | undefined>>

export type ReconcilerDeps = Pick<OperationContext, 'log' | 'timer' | 'timings'> & {
  sessions: SessionRegistry
  store: PresenceStore
  feed: Pick<PresenceFeed, 'recorded'>
  node: Pick<SessionNode, 'id' | 'heartbeat'>
  remotePresences: Pick<RemotePresences, 'onlineIds'>
  /** Runs before a user is written under the new id of the node. */
  onReRegistered(): void
}

/** One batch at a time keeps the order of changes, and many handshakes share statements. */
export class PresenceReconciler implements AsyncDisposable {
  readonly #deps: ReconcilerDeps
  readonly #tracker: PresenceTracker
  readonly #waiters = new Waiters<ConnectedUser | undefined>()
  readonly #pending = new Set<LocalUser>()
  readonly #answering = new Set<Promise<void>>()
  #syncedAs: string
  #running: Promise<void> | undefined
  #scheduled: unknown
  #stopped = false

  constructor(deps: ReconcilerDeps) {
    this.#deps = deps
    this.#syncedAs = deps.node.id
    this.#tracker = new PresenceTracker(deps, (user) => this.#enqueue(user))
  }

  /** Resolves with what was read after the call. Undefined: no such account. */
  userConnected(user: LocalUser): Promise<ConnectedUser | undefined> {
    const connected = this.#waiters.wait(user.id)
    this.#enqueue(user)
    return connected
  }

  markOnline(user: LocalUser): void {
    this.#apply(user, 'accepted')
  }

  userDisconnected(user: LocalUser): void {
    if (!hasReadySocket(user)) this.#apply(user, 'lastSocketClosed')
  }

  forceOffline(user: LocalUser): void {
    this.#apply(user, 'forcedOut')
  }

  resync(): void {
    const { id } = this.#deps.node
    if (id === this.#syncedAs) return
    this.#syncedAs = id
    this.#deps.onReRegistered()
    for (const user of this.#deps.sessions.users()) this.#apply(user, 'nodeReRegistered')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true
    this.#tracker.stop()
    this.#deps.timer.clear(this.#scheduled)
    await this.#running
    await Promise.all(this.#answering)
  }

  #apply(user: LocalUser, event: PresenceEvent): void {
    this.#tracker.apply(user, event)
    this.#enqueue(user)
  }

  /** A user with nothing to write is forgotten in its turn. */
  #enqueue(user: LocalUser): void {
    if (!this.#needsBatch(user) && !this.#isForgettable(user)) return
    this.#pending.add(user)
    this.#schedule(this.#deps.timings.gatherMs)
  }

  #needsBatch(user: LocalUser): boolean {
    return needsWrite(this.#tracker.stateOf(user)) || this.#waiters.has(user.id)
  }

  #isForgettable(user: LocalUser): boolean {
    return user.sockets.size === 0 && isIdle(this.#tracker.stateOf(user))
  }

  #schedule(afterMs: number): void {
    if (this.#running || this.#stopped) return
    this.#scheduled ??= this.#deps.timer.set(() => {
      this.#scheduled = undefined
      this.#running = this.#reconcile()
    }, afterMs)
  }

  async #reconcile(): Promise<void> {
    // Handshakes wait here instead of in the database.
    if (this.#answering.size >= policy.concurrentAnswers) await Promise.race(this.#answering)
    const retryMs = await this.#reconcileBatch()
    this.#running = undefined
    if (this.#pending.size > 0) this.#schedule(retryMs ?? this.#deps.timings.gatherMs)
  }

  async #reconcileBatch(): Promise<number | undefined> {
    const { log, timings } = this.#deps
    const waiters = new Map<LocalUser, Waiter<ConnectedUser | undefined>>()
    const batch: PresenceBatch = { users: this.#takeUsers(waiters), planned: [] }
    if (batch.users.length === 0) return undefined
    try {
      const result = await this.#write(batch)
      this.#finish(result, waiters)
      return result.locked.size > 0 ? timings.lockedRetryMs : undefined
    } catch (err) {
      log.warn({ err, users: batch.users.length }, 'presence write failed')
      for (const user of batch.planned) this.#tracker.apply(user, 'commitUnconfirmed')
      for (const waiter of waiters.values()) waiter.reject(err)
      return timings.databaseRetryMs
    } finally {
      for (const user of batch.users) this.#enqueue(user)
    }
  }

  #takeUsers(waiters: Map<LocalUser, Waiter<ConnectedUser | undefined>>): LocalUser[] {
    const users: LocalUser[] = []
    for (const user of this.#pending) {
      if (users.length >= policy.reconcileBatch) break
      this.#pending.delete(user)
      const waiter = this.#waiters.take(user.id)
      if (user.sockets.size === 0) waiter?.resolve(undefined)
      else if (waiter) waiters.set(user, waiter)
      if (waiters.has(user) || needsWrite(this.#tracker.stateOf(user))) users.push(user)
      else if (this.#isForgettable(user)) this.#deps.sessions.forget(user)
    }
    return users
  }

  /** A database that hangs delays the next batch by one limit for both attempts. */
  async #write(batch: PresenceBatch): Promise<BatchResult> {
    const { timer, timings, node, store } = this.#deps
    const limit = new AbortController()
    const expire = () => limit.abort(new Error(`presence was not written within ${timings.databaseLimitMs} ms`))
    const timeout = timer.set(expire, timings.databaseLimitMs)
    const attempt = () =>
      writeBatch({ store, tracker: this.#tracker }, batch, { nodeId: node.id, signal: limit.signal })
    try {
      return await abortable(attempt, limit.signal)
    } catch (error) {
      if (!(error instanceof NodeNotRegistered)) throw error
      await abortable(() => node.heartbeat(), limit.signal)
      this.resync()
      return await abortable(attempt, limit.signal)
    } finally {
      timer.clear(timeout)
    }
  }

  #finish(result: BatchResult, waiters: HandshakeWaiters): void {
    // Rows under an id that the node has lost are gone, or will be.
    const isCurrent = result.nodeId === this.#deps.node.id
    for (const user of result.online) this.#tracker.apply(user, isCurrent ? 'onlineRecorded' : 'commitUnconfirmed')
    for (const user of result.offline) this.#tracker.apply(user, isCurrent ? 'offlineRecorded' : 'commitUnconfirmed')
    const answered = new Map(waiters)
    for (const user of result.locked) {
      const waiter = waiters.get(user)
      if (waiter) this.#waiters.requeue(user.id, waiter)
      answered.delete(user)
    }
    this.#deps.feed.recorded(result.changes)
    if (answered.size === 0) return
    const answering = this.#answer(result, answered).finally(() => this.#answering.delete(answering))
    this.#answering.add(answering)
  }

  async #answer({ snapshots }: BatchResult, waiters: HandshakeWaiters): Promise<void> {
    const { remotePresences, store } = this.#deps
    try {
      // Visibility is mutual.
      const users = [...waiters.keys()]
      const idsOf = (hearAll: boolean) => users.filter((user) => hearsAll(user) === hearAll).map(({ id }) => id)
      const audience = await store.readAudience(
        { userIds: idsOf(true), linkedOnly: idsOf(false) },
        { everywhereAnd: remotePresences.onlineIds() },
      )
      const visibleTo = createVisibleUsers(audience)
      for (const [user, waiter] of waiters) {
        const snapshot = snapshots.get(user.id)
        waiter.resolve(snapshot && { snapshot, visible: visibleTo(user.id) })
      }
    } catch (err) {
      this.#deps.log.warn({ err, handshakes: waiters.size }, 'online users not read')
      for (const waiter of waiters.values()) waiter.reject(err)
    }
  }
}

/** A handshake under way asks for all whom the user sees. */
function hearsAll({ sockets }: LocalUser): boolean {
  for (const { phase, watched } of sockets) if (phase === 'authenticating' && !watched) return true
  return false
}

function hasReadySocket(user: LocalUser): boolean {
  for (const socket of user.sockets) if (socket.phase === 'ready') return true
  return false
}
