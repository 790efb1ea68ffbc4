import { systemClock } from '@gatehouse/runtime'
import { AckPolicy, DeliverPolicy, nanos } from 'nats'
import type { JsMsg } from 'nats'
import type { BusLog, Subscription } from '../bus.ts'
import type { MessageHandler } from '../event-message.ts'
import { clockSkewMs, inactiveThresholdMs, prefetch } from '../policy.ts'
import type { EventStream } from './event-stream.ts'
import { readEventMessage } from './message.ts'
import { startPull } from './pull.ts'
import type { Pull } from './pull.ts'
import { recreateOnReconnect } from './recreate-on-reconnect.ts'

/**
 * NOTE: the client's own ordered consumer skips events when the stream is created anew, and notices a loss only with a
 * later event. nats-faults.test.ts; docs/decisions/nats-client.md.
 */
export async function subscribeOrdered(
  stream: EventStream,
  handlers: ReadonlyMap<string, MessageHandler>,
  since?: Date,
): Promise<Subscription> {
  const subjects = [...handlers.keys()]
  const bySubject = new Map(subjects.map((subject) => [stream.subjectOf(subject), handlers.get(subject)]))
  // NATS has its own clock. Handlers are idempotent.
  const calledAt = new Date(systemClock.now() - clockSkewMs)
  let isFirst = true
  let lastSequence = 0
  let streamCreated: string | undefined
  let pull: Pull | undefined
  let work = Promise.resolve()

  function receive(stored: JsMsg) {
    if (stored.seq <= lastSequence) return
    lastSequence = stored.seq
    const handle = bySubject.get(stored.subject)
    if (handle) work = work.then(() => logFailure(stream.log, stored, handle))
  }

  const consumer = await recreateOnReconnect(stream, async ({ isCurrent, recreate, recreateAfterLoss }) => {
    pull?.stop()
    // A first creation may have failed.
    const begin = isFirst ? since : (since ?? calledAt)
    isFirst = false
    const { created, state } = await stream.ensure()
    if (!isCurrent()) return
    // A new stream counts from one.
    if (created !== streamCreated) lastSequence = streamCreated === undefined && !begin ? state.last_seq : 0
    streamCreated = created
    let delivered = 0

    const { name } = await stream.jsm.consumers.add(stream.name, {
      filter_subject: stream.subjectOf(commonSubject(subjects)),
      ...(begin && lastSequence === 0
        ? { deliver_policy: DeliverPolicy.StartTime, opt_start_time: begin.toISOString() }
        : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: lastSequence + 1 }),
      ack_policy: AckPolicy.None,
      inactive_threshold: nanos(inactiveThresholdMs),
      mem_storage: true,
    })
    const opened = await startPull(stream, name, {
      prefetch,
      onLost: recreateAfterLoss,
      receive(stored) {
        if (!isCurrent()) return
        delivered += 1
        if (stored.info.deliverySequence === delivered) receive(stored)
        else recreate()
      },
    })
    if (isCurrent()) pull = opened
    else opened.stop()
  })
  return {
    async [Symbol.asyncDispose]() {
      consumer.stop()
      pull?.stop()
      await work
    },
  }
}

async function logFailure(log: BusLog, stored: JsMsg, handle: MessageHandler): Promise<void> {
  const message = readEventMessage(stored, 1)
  try {
    await handle(message)
  } catch (err) {
    log.error({ err, event: stored.subject, id: message.id, requestId: message.requestId }, 'event handler failed')
  }
}

/** A server before 2.10 takes one filter only. Other subjects are dropped here. */
function commonSubject(subjects: readonly string[]): string {
  const [first = [], ...others] = subjects.map((subject) => subject.split('.'))
  if (others.length === 0) return first.join('.')
  const isShared = (token: string, index: number) => others.every((other) => other[index] === token)
  const differing = first.findIndex((token, index) => !isShared(token, index))
  return [...first.slice(0, differing), '>'].join('.')
}
