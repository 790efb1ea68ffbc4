import { systemClock } from '@gatehouse/runtime'
import { NatsError, type JetStreamManager } from 'nats'
import type { PulledConsumers, Subscription } from '../bus.ts'
import { missedRenewals, renewConsumersMs } from '../policy.ts'
import { durableConsumer, ensureConsumer } from './consumers.ts'
import { keepCreated, type EventStream, type Streams } from './event-stream.ts'

type Unwanted = { description: string | undefined; missed: number }

/**
 * Deletes consumers with the prefix that no process renews: processes may want different ones for a while. A new
 * consumer would deliver all stored events again, so disposal deletes none. docs/decisions/upstream-events.md.
 */
export async function keepConsumers(streams: Streams, consumers: PulledConsumers): Promise<Subscription> {
  await using opening = new AsyncDisposableStack()
  for (const stream of streams.all) {
    const wanted = consumers.wanted.flatMap(({ name, event }) => {
      const [place] = streams.placesOf(event)
      return place.stream === stream ? [{ name, filter: place.filter }] : []
    })
    opening.use(await keepConsumersOf(stream, { ...consumers, wanted }))
  }
  return opening.move()
}

type OfStream = Omit<PulledConsumers, 'wanted'> & { wanted: readonly { name: string; filter: string }[] }

async function keepConsumersOf(stream: EventStream, consumers: OfStream): Promise<Subscription> {
  const { renewMs = renewConsumersMs } = consumers
  let unwanted: ReadonlyMap<string, Unwanted> = new Map()
  // Nobody could renew them while NATS was away.
  const unsubscribe = stream.connection.onReconnect(() => (unwanted = new Map()))
  const kept = await keepCreated(stream.connection, async ({ client, isCurrent, again }) => {
    await stream.ensure(client)
    await renewWanted(client.jsm, stream, consumers)
    unwanted = await listUnwanted(client.jsm, stream, consumers, unwanted)
    const abandoned = [...unwanted].flatMap(([name, { missed }]) => (missed < missedRenewals ? [] : [name]))
    await deleteConsumers(client.jsm, stream, abandoned)
    if (isCurrent()) again(renewMs)
  })
  return {
    async [Symbol.asyncDispose]() {
      unsubscribe()
      kept.stop()
    },
  }
}

async function renewWanted(jsm: JetStreamManager, stream: EventStream, { wanted, ackWaitMs }: OfStream) {
  const description = `renewed at ${new Date(systemClock.now()).toISOString()}`
  for (const { name, filter } of wanted) {
    await ensureConsumer(jsm, stream.name, { ...durableConsumer(name, filter, { ackWaitMs }), description })
  }
}

/** With how often in a row each was found unchanged. */
async function listUnwanted(
  jsm: JetStreamManager,
  stream: EventStream,
  { prefix, wanted }: OfStream,
  before: ReadonlyMap<string, Unwanted>,
): Promise<ReadonlyMap<string, Unwanted>> {
  const names = new Set(wanted.map(({ name }) => name))
  const found = new Map<string, Unwanted>()
  for await (const { name, config } of jsm.consumers.list(stream.name)) {
    if (!name.startsWith(prefix) || names.has(name)) continue
    const { description } = config
    const known = before.get(name)
    found.set(name, { description, missed: known?.description === description ? (known?.missed ?? 0) + 1 : 0 })
  }
  return found
}

const consumerMissing = 10014

export async function deleteConsumers(
  jsm: JetStreamManager,
  stream: EventStream,
  names: readonly string[],
): Promise<void> {
  for (const name of names) {
    await jsm.consumers.delete(stream.name, name).catch((error: unknown) => {
      if (!(error instanceof NatsError) || error.api_error?.err_code !== consumerMissing) throw error
    })
  }
}
