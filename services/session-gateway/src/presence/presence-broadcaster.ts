import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Bus } from '@gatehouse/bus'
import { presenceChanged } from '@gatehouse/contracts'
import { LRUCache } from 'lru-cache'
import type { OperationContext } from '../context.ts'
import { policy } from '../policy.ts'
import { listRecipients, type Audience } from './audience.ts'
import type { PresenceDelivery, ToldChange } from './presence-delivery.ts'
import type { PresenceChange } from './presence-store.ts'

type BroadcasterDeps = Pick<OperationContext, 'sessionMetrics'> & {
  bus: Pick<Bus, 'publish' | 'ready' | 'flush'>
  presenceDelivery: Pick<PresenceDelivery, 'take'>
}

/** This node is told too. Contract: 6, presence_update. */
export class PresenceBroadcaster {
  readonly #deps: BroadcasterDeps
  readonly #postponed = new Map<string, PresenceChange>()
  /** NATS has not confirmed these. */
  #sent = new Map<string, PresenceChange>()
  readonly #published = new LRUCache<string, PresenceChange>({ max: policy.rememberedVersions })

  constructor(deps: BroadcasterDeps) {
    this.#deps = deps
  }

  /** The changes are committed. Without `audience` each node looks up its own part. */
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

  /** To be called now and then. It also asks whether NATS has what was sent. */
  retryPostponed(): void {
    const sent = this.#takeSent()
    if (sent.length > 0) void this.#deps.bus.flush().catch(() => this.#postpone(sent))
    const changes = [...this.#postponed.values()].slice(0, policy.reconcileBatch)
    for (const { userId } of changes) this.#postponed.delete(userId)
    this.#broadcast(changes)
  }

  /** NATS may not have the last messages of a lost connection. */
  repeatUnconfirmed(): void {
    this.#postpone(this.#takeSent())
    this.retryPostponed()
  }

  /** The receiver drops what it knows. */
  async repeat(to: string): Promise<void> {
    const changes = [...this.#published.values()]
    for (let first = 0; first < changes.length; first += policy.reconcileBatch) {
      for (const change of changes.slice(first, first + policy.reconcileBatch)) {
        void this.#deps.bus.publish(presenceChanged, change, { to })
      }
      await nextTurn()
    }
  }

  #takeSent(): PresenceChange[] {
    const sent = [...this.#sent.values()]
    this.#sent = new Map()
    return sent
  }

  #broadcast(changes: readonly ToldChange[]): void {
    if (!this.#deps.bus.ready()) return this.#postpone(changes)
    for (const change of changes) {
      void this.#deps.bus.publish(presenceChanged, change)
      this.#sent.set(change.userId, change)
    }
  }

  /** The audience will be another one by then. */
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
