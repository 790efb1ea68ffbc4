import { AckPolicy, DeliverPolicy, nanos } from 'nats'
import type { PlainSubjects, PulledConsumers, Subscription } from '../bus.ts'
import { maxAckPending } from '../policy.ts'
import { ensureConsumer } from './ensure-consumer.ts'
import type { EventStream } from './event-stream.ts'
import { recreateOnReconnect } from './recreate-on-reconnect.ts'

/** The part of the bus that carries what others define. */
export function plainSubjects(
  stream: EventStream,
  track: (opening: Promise<Subscription>) => Promise<Subscription>,
): PlainSubjects {
  const { connection, prefix } = stream
  return {
    prefix,
    async request(subject, message, { timeoutMs }) {
      const send = () => connection.nc.request(subject, message, { timeout: timeoutMs })
      return (await connection.whenConnected(send)).data
    },
    subscribe: (subject, receive) => track(subscribe(stream, subject, receive)),
    keepConsumers: (consumers) => track(keepConsumers(stream, consumers)),
  }
}

async function subscribe(
  { connection, log }: EventStream,
  subject: string,
  receive: (message: Uint8Array) => void,
): Promise<Subscription> {
  const subscription = connection.nc.subscribe(subject, {
    callback: (error, message) => {
      if (error) return log.error({ err: error, subject }, 'NATS subscription refused')
      receive(message.data)
    },
  })
  try {
    await connection.whenConnected(() => connection.nc.flush())
  } catch (error) {
    subscription.unsubscribe()
    throw error
  }
  return {
    async [Symbol.asyncDispose]() {
      subscription.unsubscribe()
    },
  }
}

/** Disposed, it leaves the consumers where they are: their position has to survive this process. */
async function keepConsumers(stream: EventStream, consumers: PulledConsumers): Promise<Subscription> {
  const kept = await recreateOnReconnect(stream, async () => {
    await stream.ensure()
    await deleteOthers(stream, consumers)
    for (const { name, subject } of consumers.wanted) {
      await ensureConsumer(stream, {
        durable_name: name,
        filter_subject: stream.subjectOf(subject),
        deliver_policy: DeliverPolicy.All,
        ack_policy: AckPolicy.Explicit,
        ack_wait: nanos(consumers.ackWaitMs),
        max_ack_pending: maxAckPending,
      })
    }
  })
  return {
    async [Symbol.asyncDispose]() {
      kept.stop()
    },
  }
}

async function deleteOthers(stream: EventStream, { prefix, wanted }: PulledConsumers): Promise<void> {
  const names = new Set(wanted.map(({ name }) => name))
  const unwanted: string[] = []
  for await (const { name } of stream.jsm.consumers.list(stream.name)) {
    if (name.startsWith(prefix) && !names.has(name)) unwanted.push(name)
  }
  // Another process may have deleted it meanwhile.
  for (const name of unwanted) await stream.jsm.consumers.delete(stream.name, name).catch(ignoreMissing)
}

const consumerMissing = 10014

function ignoreMissing(error: unknown): void {
  const { api_error: fault } = error as { api_error?: { err_code?: number } }
  if (fault?.err_code !== consumerMissing) throw error
}
