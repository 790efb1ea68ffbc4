import { presenceChanged } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import type { Audience } from './audience.ts'
import type { PresenceChange } from './presence-store.ts'

type BroadcasterDeps = Pick<Deps, 'bus' | 'presenceDelivery' | 'sessionMetrics'>

/** Tells every node, this one included, of changes of presence. Contract: 6, presence_update. */
export class PresenceBroadcaster {
  readonly #deps: BroadcasterDeps
  readonly #postponed = new Map<string, PresenceChange>()

  constructor(deps: BroadcasterDeps) {
    this.#deps = deps
  }

  /** Publishes changes that are committed. Other nodes are told later while the bus is away. `audience`: see `take`. */
  publish(changes: readonly PresenceChange[], audience?: Promise<Audience>): void {
    for (const { status } of changes) this.#deps.sessionMetrics.presenceChanges.inc({ status })
    this.#deps.presenceDelivery.take(changes, audience)
    this.#broadcast(changes)
  }

  /** Tells the other nodes what they could not be told, if the bus can be used. */
  retryPostponed(): void {
    const changes = [...this.#postponed.values()].slice(0, policy.reconcileBatch)
    for (const { userId } of changes) this.#postponed.delete(userId)
    this.#broadcast(changes)
  }

  /** This node gets it too, and knows it already. */
  #broadcast(changes: readonly PresenceChange[]): void {
    if (!this.#deps.bus.ready()) return this.#postpone(changes)
    for (const change of changes) this.#deps.bus.broadcast(presenceChanged, change)
  }

  /** Keeps the newest change of each user. */
  #postpone(changes: readonly PresenceChange[]): void {
    for (const change of changes) {
      const { version } = this.#postponed.get(change.userId) ?? { version: -1 }
      if (change.version > version) this.#postponed.set(change.userId, change)
    }
  }
}
