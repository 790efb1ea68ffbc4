import { presenceChanged } from '@gatehouse/contracts'
import type { PresentAudience } from '@gatehouse/database'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import type { PresenceChange } from './presence-store.ts'

type BroadcasterDeps = Pick<Deps, 'bus' | 'deliverPresence' | 'presenceStore' | 'sessionMetrics'>

/** Brings changes of presence to the nodes of their audience. Contract: 6, presence_update. */
export class PresenceBroadcaster {
  readonly #deps: BroadcasterDeps
  readonly #node: { readonly id: string }
  readonly #postponed = new Map<string, PresenceChange>()

  constructor(deps: BroadcasterDeps, node: { readonly id: string }) {
    this.#deps = deps
    this.#node = node
  }

  /** Sends changes to the audience, one message for each node. */
  publish(changes: readonly PresenceChange[], audience: readonly PresentAudience[]): void {
    const { bus, deliverPresence, sessionMetrics } = this.#deps
    const audienceOf = Map.groupBy(audience, ({ userId }) => userId)
    for (const change of changes) {
      sessionMetrics.presenceChanges.inc({ status: change.status })
      for (const { nodeId, recipients } of audienceOf.get(change.userId) ?? []) {
        if (nodeId === this.#node.id) deliverPresence({ ...change, recipients })
        else this.#broadcast(nodeId, change, recipients)
      }
    }
    if (!bus.ready()) this.postpone(changes)
  }

  /** The same, to the audience as it is now. */
  async publishToAudience(changes: readonly PresenceChange[]): Promise<void> {
    try {
      this.publish(changes, await this.#deps.presenceStore.readAudience(changes.map(({ userId }) => userId)))
    } catch (error) {
      this.postpone(changes)
      throw error
    }
  }

  /** Keeps changes that could not be published; the newest of each user. */
  postpone(changes: readonly PresenceChange[]): void {
    for (const change of changes) {
      const { version } = this.#postponed.get(change.userId) ?? { version: -1 }
      if (change.version > version) this.#postponed.set(change.userId, change)
    }
  }

  /** Publishes postponed changes if the bus can be used. */
  async retryPostponed(): Promise<void> {
    if (!this.#deps.bus.ready()) return
    const changes = [...this.#postponed.values()].slice(0, policy.reconcileBatch)
    for (const { userId } of changes) this.#postponed.delete(userId)
    await this.publishToAudience(changes)
  }

  #broadcast(to: string, change: PresenceChange, recipients: readonly string[]): void {
    for (let first = 0; first < recipients.length; first += policy.recipientsPerMessage) {
      const part = recipients.slice(first, first + policy.recipientsPerMessage)
      this.#deps.bus.broadcast(presenceChanged, { ...change, recipients: part }, { to })
    }
  }
}
