import { accountStateOf, type PlainUser } from '@gatehouse/domain'
import { emptyAudience, type Audience } from '../src/presence/audience.ts'
import {
  type ChangesPage,
  type ChangesQuery,
  NodeNotRegistered,
  type PresenceChange,
  type PresenceStore,
  type PresenceTransaction,
  type PresenceWrite,
  type UserSnapshot,
} from '../src/presence/presence-store.ts'

/** How a transaction ends; `lost`: its connection breaks before the answer of the commit. */
export type TransactionEnd = 'committed' | 'failed' | 'lostAfterCommit' | 'lostBeforeCommit'

/**
 * The record of presence in memory, which presence-store.test.ts holds against the one in SQL. If told to, each
 * transaction waits before its locks and while it writes.
 */
export class FakePresenceStore implements PresenceStore {
  readonly accounts = new Map<string, { isDeleted: boolean; passwordChangedAt: number | null }>()
  /** Which users are recorded under which node. */
  readonly rows = new Map<string, Set<string>>()
  /** All changes, in the order of their commits. */
  readonly changes: (PresenceChange & { nodeId: string })[] = []
  /** Users whose account another transaction has locked. */
  readonly locked = new Set<string>()
  /** Whether transactions wait until `end` is called. */
  isHeld = false
  #held: PromiseWithResolvers<TransactionEnd> | undefined
  #running = 0

  /** Whether a transaction waits. */
  get isWaiting(): boolean {
    return this.#held !== undefined
  }

  /** Ends the transaction that waits, or lets it go on to its commit. */
  end(how: TransactionEnd = 'committed'): void {
    const held = this.#held
    this.#held = undefined
    held?.resolve(how)
  }

  /** Lets transactions pass from now on. */
  release(): void {
    this.isHeld = false
    this.end()
  }

  /** As another node does it with a dead one. */
  evict(nodeId: string): void {
    const evicted = this.rows.get(nodeId) ?? []
    this.rows.delete(nodeId)
    this.#record(evicted, 'another')
  }

  statusOf(userId: string): PresenceChange['status'] {
    return this.changes.findLast((change) => change.userId === userId)?.status ?? 'offline'
  }

  async transaction<T>(work: (transaction: PresenceTransaction) => Promise<T>): Promise<T> {
    if (this.#running > 0) throw new Error('two transactions at the same time')
    this.#running += 1
    try {
      if ((await this.#wait()) !== 'committed') throw new Error('connection refused')
      return await work({
        lockUsers: async (userIds) => this.#lockUsers(userIds),
        findExisting: async (userIds) => userIds.filter((id) => this.accounts.has(id)),
        write: async (nodeId, users) => {
          const commit = this.#write(nodeId, users)
          const end = await this.#wait()
          const changes = end === 'committed' || end === 'lostAfterCommit' ? commit() : []
          if (end !== 'committed') throw new Error('connection lost')
          return changes
        },
      })
    } finally {
      this.#running -= 1
    }
  }

  async readAudience(): Promise<Audience> {
    return emptyAudience
  }

  async findVisible(): Promise<string[]> {
    return []
  }

  /** A snapshot is the number of changes until then. */
  async readChanges({ since, after, userIds, limit }: ChangesQuery): Promise<ChangesPage> {
    const first = Number(after?.changed ?? (Number(since) || 0) - 1) + 1
    const last = new Map(this.changes.map(({ userId, nodeId }, place) => [userId, { nodeId, place }]))
    const found = [...last]
      .filter(([, { place }]) => place >= first)
      .sort((one, other) => one[1].place - other[1].place)
    const page = found.slice(0, limit)
    const [userId, { place } = { place: 0 }] = page.at(-1) ?? []
    const known = userIds.filter((id) => this.accounts.has(id))
    const home = { homeUserId: null, homeInstance: null }
    return {
      snapshot: String(this.changes.length),
      presences: [
        ...page.map(([id, { nodeId }]) => ({ userId: id, status: this.statusOf(id), recordedBy: nodeId, ...home })),
        ...known.map((id) => ({ userId: id, status: this.statusOf(id), recordedBy: null, ...home })),
      ],
      next: page.length === limit && userId !== undefined ? { changed: String(place), userId } : undefined,
    }
  }

  async recordAgain(userIds: readonly string[], nodeId: string): Promise<PresenceChange[]> {
    const users = userIds.filter((id) => this.rows.get(nodeId)?.has(id))
    const again = users.map((userId) => ({ userId, status: 'online' as const }))
    this.changes.push(...again.map((change) => ({ ...change, nodeId })))
    return again
  }

  async #wait(): Promise<TransactionEnd> {
    if (!this.isHeld) return 'committed'
    this.#held = Promise.withResolvers()
    return await this.#held.promise
  }

  #lockUsers(userIds: readonly string[]): Map<string, UserSnapshot> {
    const free = userIds.filter((id) => this.accounts.has(id) && !this.locked.has(id))
    return new Map(
      free.map((id) => {
        const user = this.#userOf(id)
        return [id, { user, state: accountStateOf(user), instanceName: 'Test', instanceId: 'test' }]
      }),
    )
  }

  #userOf(id: string): PlainUser {
    const { isDeleted, passwordChangedAt } = this.accounts.get(id)!
    const state = { isDeleted, passwordChangedAt, isAdmin: false, secondFactorDue: false, stateVersion: 0 }
    return { id, username: `user${id}`, ...state } as PlainUser
  }

  #write(nodeId: string, { online, offline }: PresenceWrite): () => PresenceChange[] {
    const rows = this.rows.get(nodeId)
    if (!rows && online.length > 0) throw new NodeNotRegistered('evicted')
    return () => {
      const isEvicted = this.rows.get(nodeId) !== rows
      for (const id of online) rows?.add(id)
      for (const id of offline) rows?.delete(id)
      if (rows) this.rows.set(nodeId, rows)
      const changes = this.#record([...online, ...offline], nodeId)
      // The rows of a node that was evicted meanwhile go with the next look for dead nodes.
      if (isEvicted) this.evict(nodeId)
      return changes
    }
  }

  /** Those of the users whose status is another one now. */
  #record(userIds: Iterable<string>, nodeId: string): PresenceChange[] {
    return [...userIds].flatMap((userId) => {
      const isOnline = [...this.rows.values()].some((users) => users.has(userId))
      const change = { userId, status: isOnline ? ('online' as const) : ('offline' as const) }
      if (change.status === this.statusOf(userId)) return []
      this.changes.push({ ...change, nodeId })
      return change
    })
  }
}
