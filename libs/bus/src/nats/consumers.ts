import { backoffMs, systemClock } from '@gatehouse/runtime'
import { AckPolicy, ConsumerEvents, DeliverPolicy, NatsError, nanos } from 'nats'
import type { ConsumerConfig, ConsumerMessages, JetStreamManager, JsMsg, StreamInfo } from 'nats'
import type { Subscription } from '../bus.ts'
import { createSequence, type MessageHandler } from '../messages.ts'
import * as policy from '../policy.ts'
import type { EventStream, Place } from './event-stream.ts'
import { keepCreated, type Creation } from './keep-created.ts'
import { readEventMessage } from './message.ts'

/**
 * Subscriptions to the events of a stream. They go on after a lost connection, server or stream.
 *
 * `consumeDurably`: each event goes to one member of a group. The server keeps the position. An event is acknowledged after
 * its handler, and a failure is delivered again. State: `unacknowledged`, the events that were received and not handled yet.
 *
 * `consumeInOrder`: each process gets every event from its start on. The process keeps the position (`lastSequence`, and
 * `streamCreated`, because a new stream counts from one). A handler that fails is logged and not repeated.
 *
 * `startConsumer` is below both. It creates the consumer again after each connection, and after a loss (keep-created.ts).
 * State: `pull`, the one subscription that counts. connect-nats.ts subscribes; pulled-consumers.ts uses `ensureConsumer`.
 *
 * What must never happen:
 * - An event is acknowledged before its handler has succeeded.
 * - A member handles one event twice at a time. It renews what it holds, and ignores what it holds already.
 * - An ordered subscription skips an event. A gap in `deliverySequence` creates the consumer again after `lastSequence`.
 * - An old pull goes on next to its successor. It is stopped first, and an outdated creation closes what it opened.
 *
 * After all that, an event may still come twice, and late: handlers are idempotent. docs/decisions/event-bus.md.
 */

type Consumer = {
  configure(stream: StreamInfo, isFirst: boolean): Partial<ConsumerConfig>
  receive(message: JsMsg, again: Creation['again']): void
}

/** The consumer is created again after each connection and loss. */
async function startConsumer(stream: EventStream, { configure, receive }: Consumer) {
  let pull: ConsumerMessages | undefined
  const stopPull = () => {
    void pull?.close()
    pull = undefined
  }
  const creation = await keepCreated(stream.connection, async ({ client, isFirst, isCurrent, again }) => {
    // First: events delivered to the old one are redelivered only after `ackWaitMs`.
    stopPull()
    const info = await stream.ensure(client)
    if (!isCurrent()) return
    const { name } = await ensureConsumer(client.jsm, stream.name, configure(info, isFirst))
    const bound = await client.js.consumers.get(stream.name, name)
    const messages = await bound.consume({
      max_messages: policy.prefetch,
      expires: policy.pullExpiresMs,
      callback: (message) => {
        if (pull === messages) receive(message, again)
      },
      // The client would ask for a missing consumer for ever.
      abort_on_missing_resource: true,
    })
    if (!isCurrent()) return void messages.close()
    pull = messages
    void becomesSilent(messages).then((isSilent) => {
      if (isSilent && pull === messages) again(0)
    })
    void messages.closed().then(() => {
      if (pull === messages) again(policy.recreateAfterLossMs)
    })
  })
  return {
    stop() {
      creation.stop()
      stopPull()
    },
  }
}

/** The client would ask for ever, where the node of a cluster is lost that has the consumer. */
async function becomesSilent(messages: ConsumerMessages): Promise<boolean> {
  for await (const { type } of await messages.status()) if (type === ConsumerEvents.HeartbeatsMissed) return true
  return false
}

/** Each event goes to one member of `group`. The server keeps the position across restarts. */
export async function consumeDurably(
  { stream, filter }: Place,
  { subject, group }: { subject: string; group: string },
  handle: MessageHandler,
): Promise<Subscription> {
  const { connection } = stream
  const unacknowledged = new Map<number, JsMsg>()
  let stopping = false
  let work = Promise.resolve()

  async function deliver(stored: JsMsg) {
    if (stopping) return stored.nak()
    const message = readEventMessage(stored, stored.info.deliveryCount)
    try {
      await handle(message)
      stored.ack()
    } catch (err) {
      const { id, requestId, deliveries } = message
      const retryInMs = backoffMs(deliveries - 1, policy.redeliveryBackoff)
      const about = { err, event: subject, group, id, requestId, retryInMs }
      connection.log.error(about, 'event handler failed, redelivery scheduled')
      stored.nak(retryInMs)
    }
  }

  /** Nodes of a cluster may hold different events under one number: nats-server 2.9. It would be delivered again for ever. */
  function skipForeign(stored: JsMsg): void {
    connection.log.error(
      { event: subject, group, delivered: stored.subject },
      'NATS delivered an event of another subject',
    )
    stored.term()
  }

  const consumer = await startConsumer(stream, {
    configure: () => durableConsumer(`${group}_${subject.replaceAll('.', '_')}`, filter, policy),
    receive(stored) {
      if (!isPlaceOf(filter, stored.subject)) return skipForeign(stored)
      // Redelivered after a reconnection while the first delivery waits here.
      if (unacknowledged.has(stored.seq)) return
      unacknowledged.set(stored.seq, stored)
      work = work.then(() => deliver(stored)).finally(() => unacknowledged.delete(stored.seq))
    },
  })
  const working = setInterval(() => unacknowledged.forEach((stored) => stored.working()), policy.workingMs)
  return {
    async [Symbol.asyncDispose]() {
      stopping = true
      consumer.stop()
      if (connection.isUp()) await connection.whenConnected(({ nc }) => nc.flush()).catch(() => {})
      await work
      clearInterval(working)
    },
  }
}

/**
 * `handlers` by filter.
 * NOTE: the client's own ordered consumer skips events when the stream is created anew, and notices a loss only with a
 * later event. nats-faults.test.ts; docs/decisions/event-bus.md.
 */
export async function consumeInOrder(stream: EventStream, handlers: ReadonlyMap<string, MessageHandler>) {
  const sequence = createSequence(stream.connection.log)
  // NATS has its own clock. Handlers are idempotent.
  const calledAt = new Date(systemClock.now() - policy.clockSkewMs)
  let lastSequence = 0
  let delivered = 0
  let streamCreated: string | undefined

  const consumer = await startConsumer(stream, {
    configure({ created, state }, isFirst) {
      // A new stream counts from one.
      if (created !== streamCreated) lastSequence = isFirst ? state.last_seq : 0
      streamCreated = created
      delivered = 0
      return {
        filter_subject: commonSubject([...handlers.keys()]),
        // An earlier creation may have failed.
        ...(!isFirst && lastSequence === 0
          ? { deliver_policy: DeliverPolicy.StartTime, opt_start_time: calledAt.toISOString() }
          : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: lastSequence + 1 }),
        ack_policy: AckPolicy.None,
        inactive_threshold: nanos(policy.inactiveThresholdMs),
        mem_storage: true,
      }
    },
    receive(stored, again) {
      delivered += 1
      if (stored.info.deliverySequence !== delivered) return again(0)
      if (stored.seq <= lastSequence) return
      lastSequence = stored.seq
      const handle = handlers.get(stored.subject) ?? handlers.get(anyOf(stored.subject))
      if (handle) sequence.add(stored.subject, readEventMessage(stored, 1), handle)
    },
  })
  return {
    async [Symbol.asyncDispose]() {
      consumer.stop()
      await sequence.finished()
    },
  }
}

/** The filter of all subjects that differ from this one in the last token. */
const anyOf = (subject: string): string => subject.replace(/[^.]+$/, '*')

const isPlaceOf = (filter: string, subject: string): boolean => filter === subject || filter === anyOf(subject)

/** A server before 2.10 takes one filter only. Other subjects are dropped here. */
function commonSubject(subjects: readonly string[]): string {
  const [first = [], ...others] = subjects.map((subject) => subject.split('.'))
  if (others.length === 0) return first.join('.')
  const isShared = (token: string, index: number) => others.every((other) => other[index] === token)
  const differing = first.findIndex((token, index) => !isShared(token, index))
  return [...first.slice(0, differing), '>'].join('.')
}

export function durableConsumer(name: string, filterSubject: string, { ackWaitMs }: { ackWaitMs: number }) {
  return {
    durable_name: name,
    filter_subject: filterSubject,
    deliver_policy: DeliverPolicy.All,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ackWaitMs),
    max_ack_pending: policy.maxAckPending,
  } satisfies Partial<ConsumerConfig>
}

/** The name has another configuration: nats-server 2.9, then 2.10. */
const nameInUse: readonly unknown[] = [10013, 10148]

/** An existing consumer keeps its position. */
export async function ensureConsumer(jsm: JetStreamManager, stream: string, config: Partial<ConsumerConfig>) {
  try {
    return await jsm.consumers.add(stream, config)
  } catch (error) {
    const changed = error instanceof NatsError && nameInUse.includes(error.api_error?.err_code)
    if (!changed || config.durable_name === undefined) throw error
    return await jsm.consumers.update(stream, config.durable_name, config)
  }
}
