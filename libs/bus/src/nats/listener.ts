import type { EventDefinition } from '@gatehouse/contracts'
import { AckPolicy, DeliverPolicy, createInbox, nanos } from 'nats'
import type { Msg, Subscription as NatsSubscription } from 'nats'
import type { z } from 'zod'
import type { Receive, Subscription } from '../bus.ts'
import type { EventStream } from './event-stream.ts'
import { readEvent, readEventId } from './message.ts'
import { persist } from './persist.ts'
import type { Making } from './persist.ts'
import { storedMessage } from './stored-message.ts'

const HEARTBEAT_MS = 5_000
const SILENCE_MS = 3 * HEARTBEAT_MS
const FORGOTTEN_AFTER_MS = 30_000

/**
 * Hears every event from now on. Its consumer lives in the server's memory only; this side remembers the last sequence
 * and asks for a new consumer from there after a reconnection, a gap or silence.
 */
export async function listenFromNow<P extends z.ZodType>(
  stream: EventStream,
  event: EventDefinition<P>,
  handler: Receive<P>,
): Promise<Subscription> {
  const { link, log } = stream
  let heardUpTo = 0
  let streamCreated: string | undefined
  let source: NatsSubscription | undefined
  let silence: NodeJS.Timeout | undefined
  let work = Promise.resolve()

  async function handle(message: Msg) {
    try {
      await handler(readEvent(event, message, 1))
    } catch (error) {
      log.error({ err: error, event: event.subject, id: readEventId(message) }, 'a listener failed')
    }
  }

  async function open({ isCurrent, again }: Making) {
    const { created, state } = await stream.ensure()
    if (!isCurrent()) return
    // A stream that was made anew counts from one again.
    if (created !== streamCreated) heardUpTo = streamCreated === undefined ? state.last_seq : 0
    streamCreated = created
    let delivered = 0

    const inbox = createInbox()
    const opened = link.nc.subscribe(inbox, {
      callback: (error, message) => {
        if (error) return log.error({ err: error, event: event.subject }, 'NATS refused a subscription')
        if (!isCurrent()) return
        silence?.refresh()
        const missed = isHeartbeat(message) ? lastDelivered(message) > delivered : !isNext(message, ++delivered)
        if (missed) return again()
        const { sequence } = storedMessage(message)
        if (isHeartbeat(message) || sequence <= heardUpTo) return
        heardUpTo = sequence
        work = work.then(() => handle(message))
      },
    })
    source?.unsubscribe()
    source = opened
    await stream.jsm.consumers.add(stream.name, consumerConfig(inbox, stream.subjectOf(event.subject), heardUpTo + 1))
    if (!isCurrent()) return opened.unsubscribe()
    clearTimeout(silence)
    silence = setTimeout(again, SILENCE_MS)
  }

  const consumer = await persist(stream, open).catch((error: unknown) => {
    clearTimeout(silence)
    source?.unsubscribe()
    throw error
  })
  return {
    async [Symbol.asyncDispose]() {
      consumer.stop()
      clearTimeout(silence)
      source?.unsubscribe()
      await work
    },
  }
}

function consumerConfig(inbox: string, subject: string, startSequence: number) {
  return {
    deliver_subject: inbox,
    filter_subject: subject,
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: startSequence,
    ack_policy: AckPolicy.None,
    idle_heartbeat: nanos(HEARTBEAT_MS),
    inactive_threshold: nanos(FORGOTTEN_AFTER_MS),
    mem_storage: true,
  }
}

function isHeartbeat(message: Msg): boolean {
  return message.headers?.code === 100
}

function isNext(message: Msg, deliverySequence: number): boolean {
  return storedMessage(message).deliverySequence === deliverySequence
}

function lastDelivered(message: Msg): number {
  return Number(message.headers?.get('Nats-Last-Consumer') ?? 0)
}
