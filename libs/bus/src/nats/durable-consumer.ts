import { backoffMs } from '@gatehouse/runtime'
import { AckPolicy, DeliverPolicy, nanos } from 'nats'
import type { ConsumerConfig, JsMsg } from 'nats'
import type { Subscription } from '../bus.ts'
import type { MessageHandler } from '../event-message.ts'
import { ackWaitMs, maxAckPending, prefetch, redeliveryBackoff, workingMs } from '../policy.ts'
import { ensureConsumer } from './ensure-consumer.ts'
import type { EventStream } from './event-stream.ts'
import { readEventMessage } from './message.ts'
import { startPull } from './pull.ts'
import type { Pull } from './pull.ts'
import { recreateOnReconnect } from './recreate-on-reconnect.ts'

/** Each event goes to one member of `group`. The server keeps the position across restarts. */
export async function consumeDurably(
  stream: EventStream,
  { subject, group }: { subject: string; group: string },
  handle: MessageHandler,
): Promise<Subscription> {
  const { connection, log } = stream
  const config = consumerConfig(`${group}_${subject.replaceAll('.', '_')}`, stream.subjectOf(subject))
  const held = new Map<number, JsMsg>()
  let pull: Pull | undefined
  let stopping = false
  let work = Promise.resolve()

  async function deliver(stored: JsMsg) {
    if (stopping) return stored.nak()
    const message = readEventMessage(stored, stored.info.deliveryCount)
    try {
      await handle(message)
      stored.ack()
    } catch (err) {
      const retryInMs = backoffMs(message.deliveries - 1, redeliveryBackoff)
      const { id, requestId } = message
      log.error({ err, event: subject, group, id, requestId, retryInMs }, 'event handler failed, redelivery scheduled')
      stored.nak(retryInMs)
    }
  }

  function receive(stored: JsMsg) {
    // Redelivered after a reconnection while the first delivery waits here.
    if (held.has(stored.seq)) return
    held.set(stored.seq, stored)
    work = work.then(() => deliver(stored)).finally(() => held.delete(stored.seq))
  }

  const working = setInterval(() => held.forEach((stored) => stored.working()), workingMs)
  const consumer = await recreateOnReconnect(stream, async ({ isCurrent, recreateAfterLoss }) => {
    // First: events delivered to the old one are redelivered only after `ackWaitMs`.
    pull?.stop()
    await stream.ensure()
    await ensureConsumer(stream, config)
    const opened = await startPull(stream, config.durable_name, { prefetch, receive, onLost: recreateAfterLoss })
    if (isCurrent()) pull = opened
    else opened.stop()
  }).catch((error: unknown) => {
    clearInterval(working)
    throw error
  })
  return {
    async [Symbol.asyncDispose]() {
      stopping = true
      consumer.stop()
      pull?.stop()
      if (connection.isUp()) await connection.nc.flush().catch(() => {})
      await work
      clearInterval(working)
    },
  }
}

function consumerConfig(name: string, filterSubject: string) {
  return {
    durable_name: name,
    filter_subject: filterSubject,
    deliver_policy: DeliverPolicy.All,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ackWaitMs),
    max_ack_pending: maxAckPending,
  } satisfies Partial<ConsumerConfig>
}
