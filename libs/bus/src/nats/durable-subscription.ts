import type { EventDefinition } from '@gatehouse/contracts'
import { AckPolicy, DeliverPolicy, NatsError, nanos } from 'nats'
import type { ConsumerConfig } from 'nats'
import type { z } from 'zod'
import type { Receive, Subscription } from '../bus.ts'
import { retryDelayMs } from '../retry-delay.ts'
import type { EventStream } from './event-stream.ts'
import { readContext, readEvent, readEventId } from './message.ts'
import { persist } from './persist.ts'
import { storedMessage } from './stored-message.ts'
import type { StoredMessage } from './stored-message.ts'

// How soon another member gets the events of a process that died. While it lives it says so for each event it holds.
const ACK_WAIT_MS = 5_000
const STILL_WORKING_MS = 2_000
const MAX_HELD = 256
const NAME_IN_USE = 10013

/** A durable consumer whose members share a queue: the server keeps its position, so it resumes after any restart. */
export async function subscribeDurably<P extends z.ZodType>(
  stream: EventStream,
  event: EventDefinition<P>,
  group: string,
  handler: Receive<P>,
): Promise<Subscription> {
  const { link, log } = stream
  const durable = `${group}_${event.subject.replaceAll('.', '_')}`
  const deliverSubject = stream.subjectOf(`deliver.${durable}`)
  const config = consumerConfig({ durable, deliverSubject, filterSubject: stream.subjectOf(event.subject) })
  const held = new Map<number, StoredMessage>()
  let stopping = false
  let work = Promise.resolve()

  async function handle({ message, deliveries, ack, retry }: StoredMessage) {
    if (stopping) return retry(0)
    try {
      await handler(readEvent(event, message, deliveries))
      ack()
    } catch (error) {
      const retryInMs = retryDelayMs(deliveries)
      const about = { event: event.subject, group, id: readEventId(message), ...readContext(message), retryInMs }
      log.error({ err: error, ...about }, 'an event was not handled and will be delivered again')
      retry(retryInMs)
    }
  }

  function receive(stored: StoredMessage) {
    // Delivered again after a lost connection while it still waits here: once is enough.
    if (held.has(stored.sequence)) return
    held.set(stored.sequence, stored)
    work = work.then(() => handle(stored)).finally(() => held.delete(stored.sequence))
  }

  const members = link.nc.subscribe(deliverSubject, {
    queue: durable,
    callback: (error, message) => {
      if (error) log.error({ err: error, event: event.subject, group }, 'NATS refused a subscription')
      else receive(storedMessage(message))
    },
  })
  const stillWorking = setInterval(() => held.forEach((stored) => stored.stillWorking()), STILL_WORKING_MS)
  const consumer = await persist(stream, () => ensureConsumer(stream, config)).catch((error: unknown) => {
    clearInterval(stillWorking)
    members.unsubscribe()
    throw error
  })
  return {
    async [Symbol.asyncDispose]() {
      stopping = true
      consumer.stop()
      if (link.isUp()) await members.drain().catch(() => {})
      else members.unsubscribe()
      await work
      clearInterval(stillWorking)
    },
  }
}

function consumerConfig(names: { durable: string; deliverSubject: string; filterSubject: string }) {
  return {
    durable_name: names.durable,
    deliver_subject: names.deliverSubject,
    deliver_group: names.durable,
    filter_subject: names.filterSubject,
    deliver_policy: DeliverPolicy.All,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ACK_WAIT_MS),
    max_ack_pending: MAX_HELD,
  } satisfies Partial<ConsumerConfig>
}

async function ensureConsumer(stream: EventStream, config: ReturnType<typeof consumerConfig>): Promise<void> {
  await stream.ensure()
  try {
    await stream.jsm.consumers.add(stream.name, config)
  } catch (error) {
    const changed = error instanceof NatsError && error.api_error?.err_code === NAME_IN_USE
    if (!changed) throw error
    await stream.jsm.consumers.update(stream.name, config.durable_name, config)
  }
}
