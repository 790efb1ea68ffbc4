import type { Bus, BusLog, Subscription } from '../bus.ts'
import { messageHandler, messageHandlers } from '../event-message.ts'
import { publishTimeoutMs } from '../policy.ts'
import { broadcast, receiveBroadcasts } from './broadcasts.ts'
import { request, respond } from './calls.ts'
import { connectWithRetry } from './connect-with-retry.ts'
import { createConnection } from './connection.ts'
import { consumeDurably } from './durable-consumer.ts'
import { openEventStream } from './event-stream.ts'
import type { EventStream } from './event-stream.ts'
import { writeHeaders } from './message.ts'
import { subscribeOrdered } from './ordered-consumer.ts'

/**
 * The bus over NATS with JetStream (2.9 or newer). `prefix` keeps its subjects and streams apart from others'.
 * Throws one line without credentials when NATS cannot be reached within 5 s, refuses the credentials or has no
 * JetStream; afterwards it reconnects for ever and every subscription resumes by itself.
 */
export async function connectNats(options: { url: string; name: string; prefix?: string; log: BusLog }): Promise<Bus> {
  const nc = await connectWithRetry(options)
  const connection = createConnection(nc, options.log)
  try {
    return natsBus(await openEventStream(connection, options.prefix ?? 'gatehouse', options.log))
  } catch (cause) {
    const server = nc.getServer()
    await connection[Symbol.asyncDispose]()
    throw new Error(`NATS at ${server} does not offer JetStream, which the bus needs`, { cause })
  }
}

function natsBus(stream: EventStream): Bus {
  const { connection, js, subjectOf } = stream
  const subscriptions = new Set<Subscription>()

  async function track(opening: Promise<Subscription>): Promise<Subscription> {
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
      const send = { msgID: id, headers: writeHeaders({ requestId }), timeout: publishTimeoutMs }
      await connection.whenConnected(() => js.publish(subjectOf(event.subject), json, send))
    },
    async consume(events, group, handler) {
      await using opening = new AsyncDisposableStack()
      for (const [subject, handle] of messageHandlers(events, handler)) {
        opening.use(await track(consumeDurably(stream, { subject, group }, handle)))
      }
      const opened = opening.move()
      return { [Symbol.asyncDispose]: () => opened.disposeAsync() }
    },
    subscribe: (events, handler) => track(subscribeOrdered(stream, messageHandlers(events, handler))),
    broadcast: (event, payload, options = {}) => broadcast(stream, event, payload, options),
    onBroadcast: (event, handler, { as } = {}) =>
      track(receiveBroadcasts(stream, { event: event.subject, as, handle: messageHandler(event, handler) })),
    request: (call, payload, options) => request(stream, call, payload, options),
    respond: (call, handler) => track(respond(stream, call, handler)),
    ready: () => connection.isUp(),
    async [Symbol.asyncDispose]() {
      const open = [...subscriptions]
      subscriptions.clear()
      await Promise.all(open.map((subscription) => subscription[Symbol.asyncDispose]()))
      await connection[Symbol.asyncDispose]()
    },
  }
}
