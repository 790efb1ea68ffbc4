import { systemClock } from '@gatehouse/runtime'
import { NatsError, type JetStreamManager } from 'nats'
import type { PulledConsumers, Subscription } from '../bus.ts'
import { missedRenewals, renewConsumersMs } from '../policy.ts'
import { durableConsumer, ensureConsumer } from './consumers.ts'
import type { EventStream, Streams } from './event-stream.ts'
import { keepCreated } from './keep-created.ts'

/** By name. `missed`: how often in a row each was found unchanged. */
type Unwanted = Map<string, { description: string | undefined; missed: number }>

/**
 * Deletes consumers with the prefix that no process renews: processes may want different ones for a while. A new
 * consumer would deliver all stored events again, so disposal deletes none. docs/decisions/upstreams.md.
 */
export async function keepConsumers(streams: Streams, consumers: PulledConsumers): Promise<Subscription> {
  await using opening = new AsyncDisposableStack()
  for (const stream of streams.all) {
    const filterOf = new Map<string, string>()
    for (const { name, event } of consumers.wanted) {
      const place = streams.placeOf(event)
      if (place.stream === stream) filterOf.set(name, place.filter)
    }
    opening.use(await keepConsumersOf(stream, filterOf, consumers))
  }
  return opening.move()
}

async function keepConsumersOf(
  stream: EventStream,
  filterOf: ReadonlyMap<string, string>,
  { prefix, ackWaitMs, renewMs = renewConsumersMs, onPending }: PulledConsumers,
): Promise<Subscription> {
  let unwanted: Unwanted = new Map()
  // Nobody could renew them while NATS was away.
  const unsubscribe = stream.connection.onReconnect(() => (unwanted = new Map()))

  async function listUnwanted(jsm: JetStreamManager, before: Unwanted): Promise<Unwanted> {
    const unwantedNow: Unwanted = new Map()
    for await (const { name, config } of jsm.consumers.list(stream.name)) {
      if (!name.startsWith(prefix) || filterOf.has(name)) continue
      const { description } = config
      const previous = before.get(name)
      unwantedNow.set(name, {
        description,
        missed: previous?.description === description ? (previous?.missed ?? 0) + 1 : 0,
      })
    }
    return unwantedNow
  }

  const creation = await keepCreated(stream.connection, async ({ client, isCurrent, again }) => {
    await stream.ensure(client)
    const { jsm } = client
    const description = `renewed at ${new Date(systemClock.now()).toISOString()}`
    const pending = new Map<string, number>()
    for (const [name, filter] of filterOf) {
      const config = { ...durableConsumer(name, filter, { ackWaitMs }), description }
      const { num_pending, num_ack_pending } = await ensureConsumer(jsm, stream.name, config)
      pending.set(name, num_pending + num_ack_pending)
    }
    if (isCurrent()) onPending?.(stream.name, pending)
    unwanted = await listUnwanted(jsm, unwanted)
    const abandoned = [...unwanted].flatMap(([name, { missed }]) => (missed < missedRenewals ? [] : [name]))
    await deleteConsumers(jsm, stream, abandoned)
    if (isCurrent()) again(renewMs)
  })
  return {
    async [Symbol.asyncDispose]() {
      unsubscribe()
      creation.stop()
    },
  }
}

const consumerMissing = 10014

export async function deleteConsumers(jsm: JetStreamManager, stream: EventStream, names: readonly string[]) {
  for (const name of names) {
    await jsm.consumers.delete(stream.name, name).catch((error: unknown) => {
      if (!(error instanceof NatsError) || error.api_error?.err_code !== consumerMissing) throw error
    })
  }
}
