import { systemClock } from '@gatehouse/runtime'
import { AckPolicy, DeliverPolicy, nanos } from 'nats'
import type { PulledConsumers, Subscription } from '../bus.ts'
import { maxAckPending, missedRenewals, renewConsumersMs } from '../policy.ts'
import { ensureConsumer } from './ensure-consumer.ts'
import type { EventStream } from './event-stream.ts'
import { recreateOnReconnect } from './recreate-on-reconnect.ts'

type Unwanted = { description: string | undefined; missed: number }

/**
 * Deletes consumers with the prefix that no process renews: processes may want different ones for a while. A new
 * consumer would deliver all stored events again, so disposal deletes none. docs/decisions/upstream-events.md.
 */
export async function keepConsumers(stream: EventStream, consumers: PulledConsumers): Promise<Subscription> {
  const { renewMs = renewConsumersMs } = consumers
  let unwanted: ReadonlyMap<string, Unwanted> = new Map()
  let renewal: NodeJS.Timeout | undefined
  let isRenewal = false
  const kept = await recreateOnReconnect(stream, async ({ isCurrent, recreate }) => {
    clearTimeout(renewal)
    // Nobody could renew them while NATS was away.
    if (!isRenewal) unwanted = new Map()
    isRenewal = false
    await stream.ensure()
    await renewWanted(stream, consumers)
    unwanted = await listUnwanted(stream, consumers, unwanted)
    const abandoned = [...unwanted].flatMap(([name, { missed }]) => (missed < missedRenewals ? [] : [name]))
    await deleteConsumers(stream, abandoned)
    if (!isCurrent()) return
    renewal = setTimeout(() => {
      isRenewal = stream.connection.isUp()
      recreate()
    }, renewMs).unref()
  })
  return {
    async [Symbol.asyncDispose]() {
      kept.stop()
      clearTimeout(renewal)
    },
  }
}

async function renewWanted(stream: EventStream, { wanted, ackWaitMs }: PulledConsumers): Promise<void> {
  const description = `renewed at ${new Date(systemClock.now()).toISOString()}`
  for (const { name, subject } of wanted) {
    await ensureConsumer(stream, {
      durable_name: name,
      description,
      filter_subject: stream.subjectOf(subject),
      deliver_policy: DeliverPolicy.All,
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(ackWaitMs),
      max_ack_pending: maxAckPending,
    })
  }
}

/** With how often in a row each was found unchanged. */
async function listUnwanted(
  { jsm, name: streamName }: EventStream,
  { prefix, wanted }: PulledConsumers,
  before: ReadonlyMap<string, Unwanted>,
): Promise<ReadonlyMap<string, Unwanted>> {
  const names = new Set(wanted.map(({ name }) => name))
  const found = new Map<string, Unwanted>()
  for await (const { name, config } of jsm.consumers.list(streamName)) {
    if (!name.startsWith(prefix) || names.has(name)) continue
    const { description } = config
    const known = before.get(name)
    found.set(name, { description, missed: known?.description === description ? (known?.missed ?? 0) + 1 : 0 })
  }
  return found
}

export async function deleteConsumers({ jsm, name: streamName }: EventStream, names: readonly string[]): Promise<void> {
  // Another process may have deleted it.
  for (const name of names) await jsm.consumers.delete(streamName, name).catch(ignoreMissing)
}

const consumerMissing = 10014

function ignoreMissing(error: unknown): void {
  const { api_error: fault } = error as { api_error?: { err_code?: number } }
  if (fault?.err_code !== consumerMissing) throw error
}
