import { setTimeout as pause } from 'node:timers/promises'
import type { Bus, BusLog, Subscription } from '../bus.ts'
import { messageHandler, messageHandlers } from '../event-message.ts'
import { connectStartMs, publishTimeoutMs, refusedRetryMs } from '../policy.ts'
import { broadcast, receiveBroadcasts } from './broadcasts.ts'
import { request, respond } from './calls.ts'
import { connectWithRetry, describeServers } from './connect-with-retry.ts'
import { createConnection } from './connection.ts'
import { consumeDurably } from './durable-consumer.ts'
import { openEventStream } from './event-stream.ts'
import type { EventStream } from './event-stream.ts'
import { createLateBus, type NatsBus } from './late-bus.ts'
import { writeHeaders } from './message.ts'
import { subscribeOrdered } from './ordered-consumer.ts'
import { plainSubjects } from './plain-subjects.ts'

const defaultPrefix = 'gatehouse'

type NatsOptions = { url: string; name: string; prefix?: string; log: BusLog }

/**
 * JetStream 2.9 or newer. A start without NATS succeeds: subscriptions begin when it comes. Throws one line without
 * credentials when NATS refuses them or has no JetStream. Later losses end in a reconnection. Contract: 8.
 */
export async function connectNats(options: NatsOptions): Promise<Bus> {
  const stop = new AbortController()
  const opening = openNatsBus(options, stop.signal)
  const late = Symbol('late')
  const first = await Promise.race([opening, pause(connectStartMs, late, { ref: false })])
  if (first !== late) return first
  options.log.warn({ server: describeServers(options.url) }, 'cannot reach NATS yet: going on without')
  return createLateBus({
    prefix: options.prefix ?? defaultPrefix,
    opening: reopen(opening, options, stop.signal),
    stop,
    log: options.log,
  })
}

async function openNatsBus(options: NatsOptions, stopRequested: AbortSignal): Promise<NatsBus> {
  const nc = await connectWithRetry(options, stopRequested)
  const connection = createConnection(nc, options.log)
  try {
    return natsBus(await openEventStream(connection, options.prefix ?? defaultPrefix, options.log))
  } catch (cause) {
    const server = nc.getServer()
    await connection[Symbol.asyncDispose]()
    throw new Error(`NATS at ${server} does not offer JetStream, which the bus needs`, { cause })
  }
}

/** A running process retries a refusal too. */
async function reopen(opening: Promise<NatsBus>, options: NatsOptions, stopRequested: AbortSignal): Promise<NatsBus> {
  for (let attempt = opening; ; attempt = openNatsBus(options, stopRequested)) {
    try {
      return await attempt
    } catch (err) {
      stopRequested.throwIfAborted()
      options.log.error({ err }, 'NATS cannot be used yet')
      await pause(refusedRetryMs)
    }
  }
}

function natsBus(stream: EventStream): NatsBus {
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
    async publish(event, payload, { id, requestId, traceparent }) {
      const json = JSON.stringify(event.payload.parse(payload))
      const send = { msgID: id, headers: writeHeaders({ requestId, traceparent }), timeout: publishTimeoutMs }
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
    subscribe: (events, handler, since?: Date) =>
      track(subscribeOrdered(stream, messageHandlers(events, handler), since)),
    broadcast: (event, payload, options = {}) => broadcast(stream, event, payload, options),
    onBroadcast: (event, handler, { as } = {}) =>
      track(receiveBroadcasts(stream, { event: event.subject, as, handle: messageHandler(event, handler) })),
    request: (call, payload, options) => request(stream, call, payload, options),
    respond: (call, handler) => track(respond(stream, call, handler)),
    flush: () => connection.whenConnected(() => connection.nc.flush()),
    onReconnect: (listener) => ({ [Symbol.dispose]: connection.onReconnect(listener) }),
    ready: () => connection.isUp(),
    plain: plainSubjects(stream, track),
    async [Symbol.asyncDispose]() {
      const open = [...subscriptions]
      subscriptions.clear()
      await Promise.all(open.map((subscription) => subscription[Symbol.asyncDispose]()))
      await connection[Symbol.asyncDispose]()
    },
  }
}
