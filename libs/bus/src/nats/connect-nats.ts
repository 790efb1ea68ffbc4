import type { Bus, BusLog, Subscription } from '../bus.ts'
import { answerCalls, requestAnswer } from './calls.ts'
import { announceNow, hearAnnouncements } from './announcements.ts'
import { dial } from './dial.ts'
import { subscribeDurably } from './durable-subscription.ts'
import { openEventStream } from './event-stream.ts'
import type { EventStream } from './event-stream.ts'
import { createLink } from './link.ts'
import { listenFromNow } from './listener.ts'
import { writeHeaders } from './message.ts'

const PUBLISH_MS = 5_000

/**
 * The bus over NATS with JetStream (2.9 or newer). `prefix` keeps its subjects and streams apart from others'.
 * Throws one line without credentials when NATS cannot be reached within 5 s, refuses the credentials or has no
 * JetStream; afterwards it reconnects for ever and everything subscribed resumes by itself.
 */
export async function connectNats(options: { url: string; name: string; prefix?: string; log: BusLog }): Promise<Bus> {
  const nc = await dial(options)
  const link = createLink(nc, options.log)
  try {
    return natsBus(await openEventStream(link, options.prefix ?? 'gatehouse', options.log))
  } catch (cause) {
    const server = nc.getServer()
    await link[Symbol.asyncDispose]()
    throw new Error(`NATS at ${server} does not offer JetStream, which the bus needs`, { cause })
  }
}

function natsBus(stream: EventStream): Bus {
  const { link, js, subjectOf } = stream
  const subscriptions = new Set<Subscription>()

  async function keep(opening: Promise<Subscription>): Promise<Subscription> {
    const subscription = await opening
    subscriptions.add(subscription)
    return {
      async [Symbol.asyncDispose]() {
        if (subscriptions.delete(subscription)) await subscription[Symbol.asyncDispose]()
      },
    }
  }

  return {
    async publish(event, payload, { id, requestId }) {
      const json = JSON.stringify(event.payload.parse(payload))
      const send = { msgID: id, headers: writeHeaders({ requestId }), timeout: PUBLISH_MS }
      await link.whileUp(() => js.publish(subjectOf(event.subject), json, send))
    },
    subscribe: (event, group, handler) => keep(subscribeDurably(stream, event, group, handler)),
    listen: (event, handler) => keep(listenFromNow(stream, event, handler)),
    announce: (event, payload, options = {}) => announceNow(stream, event, payload, options),
    hear: (event, handler, options = {}) => keep(hearAnnouncements(stream, event, handler, options.as)),
    request: (call, payload, options) => requestAnswer(stream, call, payload, options),
    answer: (call, handler) => keep(answerCalls(stream, call, handler)),
    ready: () => link.isUp(),
    async [Symbol.asyncDispose]() {
      const open = [...subscriptions]
      subscriptions.clear()
      await Promise.all(open.map((subscription) => subscription[Symbol.asyncDispose]()))
      await link[Symbol.asyncDispose]()
    },
  }
}
