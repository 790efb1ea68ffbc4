import { Events } from 'nats'
import type { Msg, NatsConnection, NatsError, Subscription } from 'nats'
import { eventNames, type EventName } from './event-names.ts'
import { EventSubscription, type EventHandler } from './event-subscription.ts'
import { openNats } from './open-nats.ts'

/** Who sent a message, or is being connected. */
export type SocketCaller = {
  userId: string
  username: string
  isAdmin: boolean
  sessionId: string
  requestId: string
}

export type LiveMessage = { type: string; [field: string]: unknown }

/** A message of a socket, of one of the types that the upstream owns. */
export type SocketMessage = SocketCaller & { message: LiveMessage }

/** The sockets of at most 1,000 users, at most 1,000 single sockets, or the sockets of all members of a space. */
export type Audience = { users: readonly string[] } | { sessions: readonly string[] } | { space: string }

/** Thrown by a message's handler: the sender's socket gets the text as an error. */
export class MessageRefused extends Error {
  override readonly name = 'MessageRefused'
}

export type UpstreamOptions = {
  /** `nats://upstream-chat:password@nats:4222` */
  natsUrl: string
  /** As in the file of upstreams. */
  name: string
  /** With which Gatehouse's subjects begin. */
  prefix?: string
  /** Gets what handlers threw and what NATS refused. */
  onError?: (error: unknown) => void
}

/** An upstream's connection to the sockets and events of Gatehouse. */
export type UpstreamConnection = AsyncDisposable & {
  /**
   * Handles the messages of sockets. Of several replicas one gets each. The next message of the same socket comes when the
   * handler is done, which should be within 5 s: then the sender is told that the service is unavailable.
   */
  onMessage(handle: (message: SocketMessage) => void | Promise<void>): void

  /** Gives the upstream's fields of `ready` for a socket that is being connected, within 500 ms if it can. */
  onReady(handle: (caller: SocketCaller) => object | Promise<object>): void

  /** Sends a message to sockets on every session gateway. It may be lost: a client sees the truth in its next `ready`. */
  deliver(to: Audience, message: LiveMessage, options?: { except?: { sessions: readonly string[] } }): void

  /** Handles the events that the file names; of several replicas one gets each. Handlers must be idempotent. */
  onEvent(handle: EventHandler): void
  onEvent(names: readonly EventName[], handle: EventHandler): void

  /** Takes no further messages, waits for the handlers under way, and disconnects. */
  close(): Promise<void>
}

/** Connects an upstream. Rejects when NATS does not answer or refuses the credentials; afterwards it reconnects by itself. */
export async function connectUpstream(options: UpstreamOptions): Promise<UpstreamConnection> {
  const { natsUrl, name, prefix = 'gatehouse', onError = emitWarning } = options
  const nc = await openNats({ url: natsUrl, name })
  void reportRefusals(nc, onError)
  const subject = `${prefix}.upstream.${name}`
  const events: EventSubscription[] = []
  const subscriptions: Subscription[] = []
  const underWay = new Set<Promise<void>>()

  function serve(kind: string, answer: (question: unknown) => Promise<object>): void {
    const callback = (error: NatsError | null, message: Msg) => {
      if (error) return onError(error)
      const responded = respond(message, answer, onError).finally(() => underWay.delete(responded))
      underWay.add(responded)
    }
    subscriptions.push(nc.subscribe(`${subject}.${kind}`, { queue: name, callback }))
  }

  async function closeOnce(): Promise<void> {
    await Promise.all(subscriptions.map((subscription) => subscription.drain()))
    await Promise.all([...underWay, ...events.map((subscription) => subscription[Symbol.asyncDispose]())])
    await nc.drain()
  }

  let closed: Promise<void> | undefined
  const close = () => (closed ??= closeOnce())

  return {
    onMessage: (handle) =>
      serve('message', async (message) => {
        await handle(message as SocketMessage)
        return { ok: true }
      }),
    onReady: (handle) => serve('ready', async (caller) => await handle(caller as SocketCaller)),
    deliver(to, message, { except } = {}) {
      nc.publish(`${subject}.deliver`, JSON.stringify({ to, ...(except && { except }), message }))
    },
    onEvent(...given: [EventHandler] | [readonly EventName[], EventHandler]) {
      const [names, handle] = given.length === 1 ? [eventNames, given[0]] : given
      for (const event of names) {
        const consumer = `upstream_${name}_${event}`
        events.push(new EventSubscription(nc, { stream: `${prefix}-events`, consumer, event, handle, onError }))
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function respond(
  message: Msg,
  answer: (question: unknown) => Promise<object>,
  onError: (error: unknown) => void,
): Promise<void> {
  try {
    message.respond(JSON.stringify(await answer(message.json())))
  } catch (error) {
    const isRefusal = error instanceof MessageRefused
    if (!isRefusal) onError(error)
    message.respond(JSON.stringify({ error: isRefusal ? error.message : 'Service error' }))
  }
}

/** A user that may not use a subject learns of it here only. */
async function reportRefusals(nc: NatsConnection, onError: (error: unknown) => void): Promise<void> {
  for await (const { type, data } of nc.status()) {
    if (type === Events.Error) onError(new Error(`NATS: ${JSON.stringify(data)}`))
  }
}

function emitWarning(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : new Error(String(error)))
}
