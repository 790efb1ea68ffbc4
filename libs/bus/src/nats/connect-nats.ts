import type { Msg } from 'nats'
import type { Bus, BusLog, Subscription } from '../bus.ts'
import { createSequence, messageHandlers } from '../event-message.ts'
import { publishTimeoutMs } from '../policy.ts'
import { readReply, writeReply } from '../reply.ts'
import { openConnection, type Connection } from './connection.ts'
import { consumeDurably, consumeInOrder } from './consumers.ts'
import { openEventStream, type EventStream } from './event-stream.ts'
import { readContext, readEventMessage, writeHeaders } from './message.ts'
import { deleteConsumers, keepConsumers } from './pulled-consumers.ts'

type NatsOptions = { url: string; name: string; prefix?: string; log: BusLog }

/**
 * JetStream 2.9 or newer. A start without NATS succeeds: until it comes, calls are unavailable, broadcasts are lost and
 * subscriptions wait. Throws one line without credentials when NATS refuses them or has no JetStream. Contract: 8.
 */
export async function connectNats({ prefix = 'gatehouse', ...options }: NatsOptions): Promise<Bus> {
  const connection = await openConnection(options)
  try {
    return natsBus(connection, await openEventStream(connection, prefix), prefix)
  } catch (cause) {
    const server = await connection.whenConnected(async ({ nc }) => nc.getServer()).catch(() => options.name)
    await connection[Symbol.asyncDispose]()
    throw new Error(`NATS at ${server} does not offer JetStream, which the bus needs`, { cause })
  }
}

function natsBus(connection: Connection, stream: EventStream, prefix: string): Bus {
  const { log, whenConnected } = connection
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

  // The stream stores `event.`.
  const broadcastSubject = (subject: string, name: string | undefined) =>
    name === undefined ? `${prefix}.broadcast.${subject}` : `${prefix}.broadcast-to.${name}.${subject}`

  const subscribe: Bus['subscribe'] = async (events, handler, { group, as } = {}) => {
    await using opening = new AsyncDisposableStack()
    const handlers = messageHandlers(events, handler).map(({ event, handle }) => ({ ...event, handle }))
    const broadcasts = createSequence(log)
    opening.defer(broadcasts.finished)
    for (const { subject, handle } of handlers.filter(({ kept }) => !kept)) {
      const receive = (message: Msg) => broadcasts.add(subject, readEventMessage(message, 1), handle)
      opening.use(await connection.listen(broadcastSubject(subject, as), receive))
    }
    const kept = handlers.filter((event) => event.kept)
    if (group !== undefined) {
      for (const { subject, handle } of kept) opening.use(await consumeDurably(stream, { subject, group }, handle))
    } else if (kept.length > 0) opening.use(await consumeInOrder(stream, kept))
    return opening.move()
  }

  return {
    async publish(event, payload, { id, to, requestId, traceparent } = {}) {
      const json = JSON.stringify(event.payload.parse(payload))
      if (!event.kept) {
        // Headers are slow in small messages.
        const send = requestId === undefined ? undefined : { headers: writeHeaders({ requestId }) }
        return connection.send(broadcastSubject(event.subject, to), json, send)
      }
      const send = { headers: writeHeaders({ requestId, traceparent }), timeout: publishTimeoutMs }
      const subject = stream.subjectOf(event.subject)
      await whenConnected(({ js }) => js.publish(subject, json, { ...send, ...(id && { msgID: id }) }))
    },
    subscribe: (events, handler, options) => track(subscribe(events, handler, options)),
    async request(call, payload, { timeoutMs, requestId, traceparent }) {
      const json = JSON.stringify(call.request.parse(payload))
      const send = { timeout: timeoutMs, headers: writeHeaders({ requestId, traceparent }) }
      const reply = await whenConnected(({ nc }) => nc.request(`${prefix}.${call.subject}`, json, send))
      return readReply(call, reply.string())
    },
    respond(call, handler) {
      const respond = async (message: Msg) => {
        const request = { json: message.string(), context: readContext(message) }
        message.respond(await writeReply(log, call, handler, request))
      }
      return track(connection.listen(`${prefix}.${call.subject}`, respond, 'responders'))
    },
    flush: () => whenConnected(({ nc }) => nc.flush()),
    onReconnect: (listener) => ({ [Symbol.dispose]: connection.onReconnect(listener) }),
    ready: () => connection.isUp(),
    plain: {
      prefix,
      async request(subject, message, { timeoutMs }) {
        return (await whenConnected(({ nc }) => nc.request(subject, message, { timeout: timeoutMs }))).data
      },
      subscribe: (subject, receive) => track(connection.listen(subject, ({ data }) => receive(data))),
      keepConsumers: (consumers) => track(keepConsumers(stream, consumers)),
      deleteConsumers: (names) => whenConnected(({ jsm }) => deleteConsumers(jsm, stream, names)),
    },
    async [Symbol.asyncDispose]() {
      const open = [...subscriptions]
      subscriptions.clear()
      await Promise.all(open.map((subscription) => subscription[Symbol.asyncDispose]()))
      await connection[Symbol.asyncDispose]()
    },
  }
}
