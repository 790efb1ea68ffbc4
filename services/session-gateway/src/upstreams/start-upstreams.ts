import { BusUnavailable, type PlainSubjects, type Subscription } from '@gatehouse/bus'
import type { EventDefinition } from '@gatehouse/contracts'
import { startPeriodicTask } from '@gatehouse/runtime'
import { ConfigurationError, OccasionalLog } from '@gatehouse/service-kit'
import { type Upstream, upstreamEvents, UpstreamQuestions, watchUpstreams } from '@gatehouse/upstreams'
import type { OperationContext } from '../context.ts'
import type { PresenceFeed } from '../presence/presence-feed.ts'
import type { SessionRegistry } from '../sessions/session-registry.ts'
import { createDeliveries } from './deliveries.ts'
import { createMessageForwarder } from './message-forwarder.ts'
import { createReadyParts } from './ready-parts.ts'
import { UpstreamSet, type LiveUpstream } from './upstream-set.ts'

const noNats = 'NATS_URL: is needed: upstreams of GATEHOUSE_UPSTREAMS have messages, ready, events or answers'

const withoutNats = { prefix: '', request: () => Promise.reject(new BusUnavailable('disconnected')) }

export function createUpstreams(context: OperationContext) {
  const plain = context.bus.plain ?? withoutNats
  const upstreams = new UpstreamSet(plain.prefix)
  const occasionalLog = new OccasionalLog(context)
  const questions = new UpstreamQuestions(context)
  const deps = { ...context, plain, upstreams, occasionalLog, questions }
  return { ...deps, forwarder: createMessageForwarder(deps), readyParts: createReadyParts(deps) }
}

type ConnectionDeps = ReturnType<typeof createUpstreams> & {
  sessions: SessionRegistry
  feed: Pick<PresenceFeed, 'recordAgain'>
}

/** Reads the file again on SIGHUP. Throws ConfigurationError. Contract: 8, settings, GATEHOUSE_UPSTREAMS. */
export async function startUpstreams(deps: ConnectionDeps, file: string | undefined): Promise<AsyncDisposable> {
  await using opening = new AsyncDisposableStack()
  if (file === undefined) return opening.move()
  const { bus, log, timer, timings, upstreams } = deps
  const watch = opening.use(await watchUpstreams(file, { log }))
  const { plain } = bus
  if (!plain) {
    if (watch.current.some(needsNats)) throw new ConfigurationError([noNats])
    opening.defer(watch.onChange((current) => (current.some(needsNats) ? log.error(noNats) : undefined)))
    return opening.move()
  }
  upstreams.replace(watch.current)
  const connections = opening.use(openConnections(deps, plain))
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

const needsNats = ({ messages, ready, events, answers }: Upstream) =>
  messages.length + ready.length + events.length + answers.length > 0

function openConnections(deps: ConnectionDeps, plain: PlainSubjects) {
  const { timings, upstreams } = deps
  const deliveries = createDeliveries(deps)
  const subscriptions = new Map<LiveUpstream, Subscription>()
  let consumers: { for: readonly Upstream[]; kept: Subscription } | undefined
  let consumerNames: readonly string[] = []
  /** By stream, then by consumer. */
  const pendingIn = new Map<string, ReadonlyMap<string, number>>()
  deps.metrics.rowsGauge(
    'gatehouse_upstream_events_pending',
    'Events that an upstream has not acknowledged, as of the last minute',
    ['upstream', 'event'],
    async () =>
      upstreams.all.flatMap(consumersOf).flatMap(({ name, upstream, event }) => {
        const value = [...pendingIn.values()].find((pending) => pending.has(name))?.get(name)
        return value === undefined ? [] : [{ labels: { upstream, event: event.name }, value }]
      }),
  )

  async function keepConsumers(): Promise<void> {
    const { definitions } = upstreams
    await consumers?.kept[Symbol.asyncDispose]()
    consumers = undefined
    const wanted = upstreams.all.flatMap(consumersOf)
    const names = wanted.map(({ name }) => name)
    // Other consumers expire when no node renews them.
    const unwanted = consumerNames.filter((name) => !names.includes(name))
    if (unwanted.length > 0) await plain.deleteConsumers(unwanted)
    consumerNames = names
    pendingIn.clear()
    const onPending = (stream: string, pending: ReadonlyMap<string, number>) => void pendingIn.set(stream, pending)
    const { upstreamAckWaitMs: ackWaitMs, upstreamRenewMs: renewMs } = timings
    const keeper = await plain.keepConsumers({ prefix: 'upstream_', wanted, ackWaitMs, renewMs, onPending })
    consumers = { for: definitions, kept: keeper }
  }

  return {
    /** Throws when NATS refuses. */
    async reconcile(): Promise<void> {
      for (const [upstream, subscription] of subscriptions) {
        if (!upstream.isRemoved) continue
        subscriptions.delete(upstream)
        await subscription[Symbol.asyncDispose]()
      }
      for (const upstream of upstreams.all) {
        const { messages, answers } = upstream.definition
        const isSilent = messages.length === 0 && !answers.includes('audience')
        if (isSilent || subscriptions.has(upstream)) continue
        const receive = (bytes: Uint8Array) => deliveries.receive(upstream, bytes)
        subscriptions.set(upstream, await plain.subscribe(upstream.subjects.deliver, receive))
      }
      if (consumers?.for !== upstreams.definitions) await keepConsumers()
    },
    async [Symbol.asyncDispose](): Promise<void> {
      const open = [...subscriptions.values(), ...(consumers ? [consumers.kept] : [])]
      await Promise.all(open.map((subscription) => subscription[Symbol.asyncDispose]()))
    },
  }
}

/** A server before 2.10 filters by one subject only. docs/decisions/upstreams.md. */
function consumersOf({ name: upstream, subjects, definition }: LiveUpstream) {
  const subscribedEvents = upstreamEvents.filter(({ name }) => definition.events.includes(name))
  return subscribedEvents.map((event: EventDefinition) => ({
    name: `${subjects.consumer}_${event.name}`,
    upstream,
    event,
  }))
}
