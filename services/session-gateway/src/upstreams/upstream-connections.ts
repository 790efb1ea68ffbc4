import type { PlainSubjects, Subscription } from '@gatehouse/bus'
import { upstreamEvents, type EventDefinition, type Upstream } from '@gatehouse/contracts'
import type { OperationContext } from '../context.ts'
import type { SessionRegistry } from '../sessions/session-registry.ts'
import { Deliveries } from './deliveries.ts'
import type { LiveUpstream } from './live-upstream.ts'
import type { OccasionalLog } from './occasional-log.ts'
import { SpaceMembers } from './space-members.ts'
import type { UpstreamSet } from './upstream-set.ts'

export type ConnectionDeps = Pick<OperationContext, 'orm' | 'log' | 'timer' | 'timings' | 'sessionMetrics'> & {
  sessions: Pick<SessionRegistry, 'find' | 'findSession'>
  upstreams: UpstreamSet
  occasionalLog: OccasionalLog
}

export class UpstreamConnections implements AsyncDisposable {
  readonly #deps: ConnectionDeps
  readonly #plain: PlainSubjects
  readonly #deliveries: Deliveries
  readonly #subscriptions = new Map<LiveUpstream, Subscription>()
  #consumers: { for: readonly Upstream[]; kept: Subscription } | undefined
  #consumerNames: readonly string[] = []

  constructor(deps: ConnectionDeps, plain: PlainSubjects) {
    this.#deps = deps
    this.#plain = plain
    this.#deliveries = new Deliveries({ ...deps, spaceMembers: new SpaceMembers(deps) })
  }

  /** Throws when NATS refuses. */
  async reconcile(): Promise<void> {
    for (const [upstream, subscription] of this.#subscriptions) {
      if (!upstream.isRemoved) continue
      this.#subscriptions.delete(upstream)
      await subscription[Symbol.asyncDispose]()
    }
    for (const upstream of this.#deps.upstreams.all()) {
      if (upstream.definition.messages.length > 0 && !this.#subscriptions.has(upstream)) await this.#subscribe(upstream)
    }
    if (this.#consumers?.for !== this.#deps.upstreams.definitions) await this.#keepConsumers()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const open = [...this.#subscriptions.values(), ...(this.#consumers ? [this.#consumers.kept] : [])]
    await Promise.all(open.map((subscription) => subscription[Symbol.asyncDispose]()))
  }

  async #subscribe(upstream: LiveUpstream): Promise<void> {
    const receive = (bytes: Uint8Array) => this.#deliveries.receive(upstream, bytes)
    this.#subscriptions.set(upstream, await this.#plain.subscribe(upstream.subjects.deliver, receive))
  }

  async #keepConsumers(): Promise<void> {
    const { definitions } = this.#deps.upstreams
    await this.#consumers?.kept[Symbol.asyncDispose]()
    this.#consumers = undefined
    const wanted = [...this.#deps.upstreams.all()].flatMap(consumersOf)
    const names = wanted.map(({ name }) => name)
    // Other consumers expire when no node renews them.
    const unwanted = this.#consumerNames.filter((name) => !names.includes(name))
    if (unwanted.length > 0) await this.#plain.deleteConsumers(unwanted)
    this.#consumerNames = names
    const ackWaitMs = this.#deps.timings.upstreamAckWaitMs
    const kept = await this.#plain.keepConsumers({ prefix: 'upstream_', wanted, ackWaitMs })
    this.#consumers = { for: definitions, kept }
  }
}

/** A server before 2.10 filters by one subject only. docs/decisions/upstream-events.md. */
function consumersOf({ subjects, definition }: LiveUpstream): { name: string; event: EventDefinition }[] {
  const named = upstreamEvents.filter(({ name }) => definition.events.includes(name))
  return named.map((event) => ({ name: `${subjects.consumer}_${event.name}`, event }))
}
