import type { Msg } from 'nats'
import type { Bus, Subscription } from '../bus.ts'
import { createSequence, messageHandlers, readReply, writeReply, type MessageHandler } from '../messages.ts'
import { publishTimeoutMs } from '../policy.ts'
import { openConnection, type Connection, type ConnectionOptions } from './connection.ts'
import { consumeDurably, consumeInOrder } from './consumers.ts'
import { listFaultsOf, openStreams, type EventStream, type Streams } from './event-stream.ts'
import { readContext, readEventMessage, writeHeaders } from './message.ts'
import { deleteConsumers, keepConsumers } from './pulled-consumers.ts'

/** `createsStreams`: by default. Others wait until one that does has come. */
type NatsOptions = ConnectionOptions & { prefix?: string; streamBytes?: number; createsStreams?: boolean }

/**
 * JetStream 2.9 or newer. A start without NATS succeeds: until it comes, calls are unavailable, broadcasts are lost and
 * subscriptions wait. Throws one line without credentials when NATS refuses them or has no JetStream. Contract: 8, start.
 */
export async function connectNats(natsOptions: NatsOptions): Promise<Bus> {
  const { prefix = 'gatehouse', streamBytes, createsStreams = true, ...options } = natsOptions
  const connection = await openConnection(options)
  try {
    return natsBus(
      connection,
      await openStreams(connection, { prefix, maxBytes: streamBytes, isCreator: createsStreams }),
      prefix,
    )
  } catch (cause) {
    const server = await connection.whenConnected(async ({ nc }) => nc.getServer()).catch(() => options.name)
    await connection[Symbol.asyncDispose]()
    throw new Error(`NATS at ${server} does not offer JetStream, which the bus needs`, { cause })
  }
}

// eslint-disable-next-line max-lines-per-function -- the operations of one bus
function natsBus(connection: Connection, streams: Streams, prefix: string): Bus {
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

  const broadcastSubject = (subject: string, name: string | undefined) =>
    name === undefined ? `${prefix}.broadcast.${subject}` : `${prefix}.broadcast-to.${name}.${subject}`

  const subscribe: Bus['subscribe'] = async (events, handler, { group, as } = {}) => {
    const opening: Promise<Subscription>[] = []
    const broadcasts = createSequence(log)
    const inOrder = new Map<EventStream, Map<string, MessageHandler>>(streams.all.map((stream) => [stream, new Map()]))
    for (const { event, handle } of messageHandlers(events, handler)) {
      const { subject } = event
      const receive = (message: Msg) => broadcasts.add(subject, readEventMessage(message, 1), handle)
      if (!event.stream) {
        opening.push(connection.listen(broadcastSubject(subject, as), receive))
        continue
      }
      const place = streams.placeOf(event)
      if (group === undefined) inOrder.get(place.stream)?.set(place.filter, handle)
      else opening.push(consumeDurably(place, { subject, group }, handle))
    }
    for (const [stream, handlers] of inOrder) if (handlers.size > 0) opening.push(consumeInOrder(stream, handlers))
    const opened = await Promise.all(opening)
    return {
      async [Symbol.asyncDispose]() {
        await Promise.all(opened.map((one) => one[Symbol.asyncDispose]()))
        await broadcasts.finished()
      },
    }
  }

  return {
    async publish(event, payload, { id, to, requestId, traceparent } = {}) {
      const json = JSON.stringify(event.payload.parse(payload))
      if (!event.stream) {
        // Headers are slow in small messages.
        const send = requestId === undefined ? undefined : { headers: writeHeaders({ requestId }) }
        return connection.send(broadcastSubject(event.subject, to), json, send)
      }
      const send = { headers: writeHeaders({ requestId, traceparent }), timeout: publishTimeoutMs }
      if (id === undefined) throw new TypeError('an event that is kept has an id')
      const { [event.lastOf ?? '']: key = id } = payload as Record<string, string>
      const subject = streams.subjectOf(event, key)
      await whenConnected(({ js }) => js.publish(subject, json, { ...send, msgID: id }))
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
    ready: () => connection.isUp(),
    listStreamFaults: async () => (await Promise.all(streams.all.map(listFaultsOf))).flat(),
    plain: {
      prefix,
      async request(subject, message, { timeoutMs }) {
        return (await whenConnected(({ nc }) => nc.request(subject, message, { timeout: timeoutMs }))).data
      },
      subscribe: (subject, receive) => track(connection.listen(subject, ({ data }) => receive(data))),
      keepConsumers: (consumers) => track(keepConsumers(streams, consumers)),
      async deleteConsumers(names) {
        for (const stream of streams.all) await whenConnected(({ jsm }) => deleteConsumers(jsm, stream, names))
      },
    },
    async [Symbol.asyncDispose]() {
      const open = [...subscriptions]
      subscriptions.clear()
      await Promise.all(open.map((subscription) => subscription[Symbol.asyncDispose]()))
      await connection[Symbol.asyncDispose]()
    },
  }
}
