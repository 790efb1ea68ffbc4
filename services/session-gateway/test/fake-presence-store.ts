import { accountStateOf, type PlainUser } from '@gatehouse/domain'
import { emptyAudience, type Audience } from '../src/presence/audience.ts'
import {
  NodeNotRegistered,
  type PresenceChange,
  type PresenceStore,
  type PresenceTransaction,
  type PresenceWrite,
  type UserSnapshot,
} from '../src/presence/presence-store.ts'

/** How a transaction ends; `lost`: its connection breaks before the answer of the commit. */
export type TransactionEnd = 'committed' | 'failed' | 'lostAfterCommit' | 'lostBeforeCommit'

/** The record of presence in memory. If told to, each transaction waits before its locks and while it writes. */
export class FakePresenceStore implements PresenceStore {
  readonly accounts = new Map<string, { isDeleted: boolean; passwordChangedAt: number | null }>()
  /** Which users are recorded under which node. */
  readonly rows = new Map<string, Set<string>>()
  /** What another node has published that evicted one. */
  readonly evictions: PresenceChange[] = []
  /** Users whose account another transaction has locked. */
  readonly locked = new Set<string>()
  transactions = 0
  /** Whether transactions wait until `end` is called. */
  isHeld = false
  #held: PromiseWithResolvers<TransactionEnd> | undefined
  #running = 0
  #version = 0

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
    this.#publishEviction(evicted)
  }

  isRecorded(nodeId: string, userId: string): boolean {
    return this.rows.get(nodeId)?.has(userId) ?? false
  }

  async transaction<T>(work: (transaction: PresenceTransaction) => Promise<T>): Promise<T> {
    if (this.#running > 0) throw new Error('two transactions at the same time')
    this.#running += 1
    this.transactions += 1
    try {
      if ((await this.#wait()) !== 'committed') throw new Error('connection refused')
      return await work({
        lockUsers: async (userIds) => this.#lockUsers(userIds),
        findExisting: async (userIds) => userIds.filter((id) => this.accounts.has(id)),
        write: async (nodeId, users) => {
          const { changes, commit } = this.#write(nodeId, users)
          const end = await this.#wait()
          if (end === 'committed' || end === 'lostAfterCommit') commit()
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

  async findConnected(): Promise<Set<string>> {
    return new Set()
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
    return { id, username: `user${id}`, isDeleted, passwordChangedAt, isAdmin: false, stateVersion: 0 } as PlainUser
  }

  #write(
    nodeId: string,
    { online, offline, unconfirmed }: PresenceWrite,
  ): { changes: PresenceChange[]; commit: () => void } {
    const rows = this.rows.get(nodeId)
    if (!rows && online.length > 0) throw new NodeNotRegistered('evicted')
    const commit = () => {
      for (const id of online) rows?.add(id)
      for (const id of offline) rows?.delete(id)
      // The rows of a node that was evicted meanwhile go with the next look for dead nodes.
      if (this.rows.get(nodeId) !== rows) this.#publishEviction(online)
    }
    const changes = [
      ...online.filter((id) => !rows?.has(id) || unconfirmed.includes(id)).map((id) => this.#change(id, 'online')),
      ...offline.filter((id) => rows?.has(id) || unconfirmed.includes(id)).map((id) => this.#change(id, 'offline')),
    ]
    return { changes, commit }
  }

  #publishEviction(userIds: Iterable<string>): void {
    for (const id of userIds) this.evictions.push(this.#change(id, 'offline'))
  }

  #change(userId: string, status: 'online' | 'offline'): PresenceChange {
    this.#version += 1
    return { userId, status, version: this.#version }
  }
}
