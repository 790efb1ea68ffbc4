import { BusUnavailable, type PlainSubjects, type Subscription } from '@gatehouse/bus'
import { type Upstream, upstreamEvents, type EventDefinition } from '@gatehouse/contracts'
import { startPeriodicTask } from '@gatehouse/runtime'
import { ConfigurationError, OccasionalLog, UpstreamQuestions, watchUpstreams } from '@gatehouse/service-kit'
import type { OperationContext } from '../context.ts'
import type { CallerDeps, SessionRegistry } from '../sessions/session-registry.ts'
import { Deliveries } from './deliveries.ts'
import { MessageForwarder } from './message-forwarder.ts'
import { ReadyParts } from './ready-parts.ts'
import { SpaceMembers } from './space-members.ts'
import { UpstreamSet, type LiveUpstream } from './upstream-set.ts'

const noNats = 'NATS_URL: is needed: upstreams of GATEHOUSE_UPSTREAMS have messages, ready, events or answers'

const withoutNats = {
  prefix: '',
  request: async () => {
    throw new BusUnavailable('disconnected')
  },
}

export function createUpstreams(
  context: CallerDeps & Pick<OperationContext, 'bus' | 'log' | 'timer' | 'timings' | 'metrics' | 'sessionMetrics'>,
) {
  const plain = context.bus.plain ?? withoutNats
  const upstreams = new UpstreamSet(plain.prefix)
  const occasionalLog = new OccasionalLog(context)
  const deps = { ...context, plain, upstreams, occasionalLog }
  const questions = new UpstreamQuestions(context)
  const [forwarder, readyParts] = [new MessageForwarder(deps), new ReadyParts(deps)]
  return { upstreams, occasionalLog, questions, forwarder, readyParts }
}

/** Reads the file again on SIGHUP. Throws ConfigurationError. Contract: 8, GATEHOUSE_UPSTREAMS. */
export async function startUpstreams(
  deps: ConnectionDeps & Pick<OperationContext, 'bus'>,
  file: string | undefined,
): Promise<AsyncDisposable> {
  await using opening = new AsyncDisposableStack()
  if (file === undefined) return opening.move()
  const { log, timer, timings, upstreams } = deps
  const watch = opening.use(await watchUpstreams(file, { log }))
  const { plain } = deps.bus
  if (!plain) {
    if (watch.current.some(needsNats)) throw new ConfigurationError([noNats])
    opening.defer(watch.onChange((current) => (current.some(needsNats) ? log.error(noNats) : undefined)))
    return opening.move()
  }
  upstreams.replace(watch.current)
  const connections = opening.use(new UpstreamConnections(deps, plain))
  // NATS may be away when the file changes.
  const task = { name: 'upstream connections', everyMs: timings.upstreamRetryMs, log, timer }
  const reconciling = opening.use(startPeriodicTask(task, () => connections.reconcile()))
  await reconciling.runNow()
  opening.defer(
    watch.onChange((current) => {
      upstreams.replace(current)
      void reconciling.runNow()
    }),
  )
  return opening.move()
}

function needsNats({ messages, ready, events, answers }: Upstream): boolean {
  return messages.length + ready.length + events.length + answers.length > 0
}

type ConnectionDeps = CallerDeps &
  Pick<OperationContext, 'orm' | 'log' | 'timer' | 'timings' | 'sessionMetrics'> & {
    sessions: Pick<SessionRegistry, 'find' | 'findSession'>
    upstreams: UpstreamSet
    occasionalLog: OccasionalLog
    questions: UpstreamQuestions
  }

class UpstreamConnections implements AsyncDisposable {
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
