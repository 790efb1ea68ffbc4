import { setImmediate as nextTurn } from 'node:timers/promises'
import { presenceChanged } from '@gatehouse/contracts'
import { LRUCache } from 'lru-cache'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import { listRecipients, type Audience } from './audience.ts'
import type { PresenceChange } from './presence-store.ts'

type BroadcasterDeps = Pick<Deps, 'bus' | 'presenceDelivery' | 'sessionMetrics'>

/** A change as other nodes are told of it: with its audience they need not look it up. */
export type ToldChange = PresenceChange & { audience?: string[] | undefined }

/** Tells every node, this one included, of changes of presence. Contract: 6, presence_update. */
export class PresenceBroadcaster {
  readonly #deps: BroadcasterDeps
  readonly #postponed = new Map<string, PresenceChange>()
  /** What was sent since it was last asked whether NATS has it. */
  #sent = new Map<string, PresenceChange>()
  /** The newest change of each user that this node has published. */
  readonly #published = new LRUCache<string, PresenceChange>({ max: policy.rememberedVersions })

  constructor(deps: BroadcasterDeps) {
    this.#deps = deps
  }

  /**
   * Publishes changes that are committed. Other nodes are told later while the bus is away. `audience` is that of all of
   * them on all nodes, which this node reads already; where it cannot be read, each node looks up its own part.
   */
  publish(changes: readonly PresenceChange[], audience?: Promise<Audience>): void {
    for (const change of changes) {
      this.#published.set(change.userId, change)
      this.#deps.sessionMetrics.presenceChanges.inc({ status: change.status })
    }
    this.#deps.presenceDelivery.take(changes, audience)
    const broadcast = (known: Audience) => this.#broadcast(changes.map((change) => withRecipients(change, known)))
    if (audience) void audience.then(broadcast, () => this.#broadcast(changes))
    else this.#broadcast(changes)
  }

  /**
   * Tells the other nodes what they could not be told, if the bus can be used, and asks whether NATS has what was sent. To be
   * called now and then.
   */
  retryPostponed(): void {
    const sent = this.#takeSent()
    if (sent.length > 0) void this.#deps.bus.flush().catch(() => this.#postpone(sent))
    const changes = [...this.#postponed.values()].slice(0, policy.reconcileBatch)
    for (const { userId } of changes) this.#postponed.delete(userId)
    this.#broadcast(changes)
  }

  /** The connection was lost and is there again: NATS may not have what was sent to it in the end. */
  repeatUnconfirmed(): void {
    this.#postpone(this.#takeSent())
    this.retryPostponed()
  }

  /** Repeats what this node has published to one that may have missed it, which drops what it knows. */
  async repeat(to: string): Promise<void> {
    const changes = [...this.#published.values()]
    for (let first = 0; first < changes.length; first += policy.reconcileBatch) {
      for (const change of changes.slice(first, first + policy.reconcileBatch)) {
        this.#deps.bus.broadcast(presenceChanged, change, { to })
      }
      await nextTurn()
    }
  }

  #takeSent(): PresenceChange[] {
    const sent = [...this.#sent.values()]
    this.#sent = new Map()
    return sent
  }

  /** This node gets it too, and knows it already. */
  #broadcast(changes: readonly ToldChange[]): void {
    if (!this.#deps.bus.ready()) return this.#postpone(changes)
    for (const change of changes) {
      this.#deps.bus.broadcast(presenceChanged, change)
      this.#sent.set(change.userId, change)
    }
  }

  /** Keeps the newest change of each user, without its audience: by then that will be another one. */
  #postpone(changes: readonly ToldChange[]): void {
    for (const { audience: _audience, ...change } of changes) {
      const { version } = this.#postponed.get(change.userId) ?? { version: -1 }
      if (change.version > version) this.#postponed.set(change.userId, change)
    }
  }
}

function withRecipients(change: PresenceChange, audience: Audience): ToldChange {
  return { ...change, audience: listRecipients(audience, change.userId, policy.toldRecipients) }
}
