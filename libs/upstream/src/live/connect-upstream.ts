import { Events, connect } from 'nats'
import type { ConnectionOptions, Msg, NatsConnection, NatsError, Subscription } from 'nats'
import { eventNames, streamOf, type EventName } from './event-names.ts'
import { subscribeEvent, type EventHandler } from './event-subscription.ts'

export type SocketCaller = { userId: string; username: string; isAdmin: boolean; sessionId: string; requestId: string }
export type LiveMessage = { type: string; [field: string]: unknown }
export type SocketMessage = SocketCaller & { message: LiveMessage }

/** At most 1,000 users or 1,000 sessions. */
export type Audience = { users: readonly string[] } | { sessions: readonly string[] } | { space: string }

/** A message handler throws it. The sender's socket gets the text as an error. */
export class MessageRefused extends Error {
  override readonly name = 'MessageRefused'
}

export type UpstreamOptions = {
  /** `nats://upstream-chat:password@nats:4222` */
  natsUrl: string
  /** As in the file of upstreams. */
  name: string
  prefix?: string
  /** Gets what handlers threw and what NATS refused. */
  onError?: (error: unknown) => void
}

export type DeliveryOptions = { except?: { sessions: readonly string[] }; access?: 'admin' }
export type OwnedSpace = { id: string; name: string }

/** Gatehouse asks what the file declares in `answers`. docs/integrate/ask-and-answer.md says what happens without an answer. */
type Questions = {
  /** Who shares something with each of these users. Users with the same audience can share a group. */
  audience: { question: { users: string[] }; answer: { groups: { users: string[]; audience: string[] }[] } }
  /** What keeps the user from being deleted. */
  ownedSpaces: { question: { userId: string }; answer: { ownedSpaces: OwnedSpace[] } }
  members: { question: { space: string }; answer: { members: string[] } }
  /** A page of the user's data, the first one without `after`. `next` leads to the next one. */
  export: { question: { userId: string; after?: string }; answer: { rows: object[]; next?: string } }
  /** Asked again until it is done. It may come without the user's event, or twice. */
  deletion: { question: { userId: string; mode: 'soft' | 'full' }; answer: { done: boolean } }
}
export type QuestionName = keyof Questions
type Answering<N extends QuestionName> = (
  question: Questions[N]['question'],
) => Questions[N]['answer'] | Promise<Questions[N]['answer']>

export type UpstreamConnection = AsyncDisposable & {
  /**
   * One replica gets each. A socket's next message waits for the handler. After 5 s the sender gets an error. What the
   * handler gives is the reply to a message with a `ref`.
   */
  onMessage(handle: (message: SocketMessage) => object | void | Promise<object | void>): void
  /** Gives the upstream's fields of `ready`, within 500 ms if it can. */
  onReady(handle: (caller: SocketCaller) => object | Promise<object>): void
  /** One replica gets each question. */
  onQuestion<N extends QuestionName>(name: N, answer: Answering<N>): void
  /** May be lost: a client sees the truth in its next `ready`. With `access`, only who is an admin at that moment gets it. */
  deliver(to: Audience, message: LiveMessage, options?: DeliveryOptions): void
  /** Others see these users now, 100 at most: their presence is sent again. */
  audienceChanged(userIds: readonly string[]): void
  /** One replica gets each. Handlers must be idempotent. */
  onEvent(handle: EventHandler): void
  onEvent(names: readonly EventName[], handle: EventHandler): void
  close(): Promise<void>
}

/** Rejects when NATS does not answer or refuses the credentials. Later it reconnects by itself. */
// eslint-disable-next-line max-lines-per-function -- one thing: its functions share its state
export async function connectUpstream(options: UpstreamOptions): Promise<UpstreamConnection> {
  const { natsUrl, name, prefix = 'gatehouse', onError = emitWarning } = options
  const nc = await connect({
    ...readAddress(natsUrl),
    name: `upstream-${name}`,
    // The user may read inboxes under its prefix only.
    inboxPrefix: `_INBOX_${name}`,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectJitter: 250,
    pingInterval: 10_000,
    ignoreAuthErrorAbort: true,
  })
  void reportRefusals(nc, onError)
  const subject = `${prefix}.upstream.${name}`
  const events: AsyncDisposable[] = []
  const subscriptions: Subscription[] = []
  const underWay = new Set<Promise<void>>()

  function serve(kind: string, answer: (question: unknown) => Promise<object>): void {
    async function respond(message: Msg): Promise<void> {
      try {
        message.respond(JSON.stringify(await answer(message.json())))
      } catch (error) {
        const isRefusal = error instanceof MessageRefused
        if (!isRefusal) onError(error)
        message.respond(JSON.stringify({ error: isRefusal ? error.message : 'Service error' }))
      }
    }
    const callback = (error: NatsError | null, message: Msg) => {
      if (error) return onError(error)
      const responded = respond(message).finally(() => underWay.delete(responded))
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
      serve('message', async (message) => ({ ok: true, ...(await handle(message as SocketMessage)) })),
    onReady: (handle) => serve('ready', async (caller) => await handle(caller as SocketCaller)),
    onQuestion(name, answer) {
      const kind = name === 'ownedSpaces' ? 'owned-spaces' : name
      serve(kind, async (question) => await answer(question as Questions[typeof name]['question']))
    },
    deliver(to, message, options = {}) {
      nc.publish(`${subject}.deliver`, JSON.stringify({ ...options, to, message }))
    },
    audienceChanged(userIds) {
      nc.publish(`${subject}.deliver`, JSON.stringify({ audienceChanged: userIds }))
    },
    onEvent(...args: [EventHandler] | [readonly EventName[], EventHandler]) {
      const [names, handle] = args.length === 1 ? [eventNames, args[0]] : args
      for (const event of names) {
        const [stream, consumer] = [`${prefix}-${streamOf(event)}`, `upstream_${name}_${event}`]
        events.push(subscribeEvent(nc, { stream, consumer, event, handle, onError }))
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** NATS reports a refused subject here only. */
async function reportRefusals(nc: NatsConnection, onError: (error: unknown) => void): Promise<void> {
  for await (const { type, data } of nc.status()) {
    if (type === Events.Error) onError(new Error(`NATS: ${JSON.stringify(data)}`))
  }
}

function emitWarning(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : new Error(String(error)))
}

/** `text` may name several servers. */
function readAddress(text: string): ConnectionOptions {
  const urls = text.split(',').map((part) => {
    const url = URL.parse(part.includes('://') ? part.trim() : `nats://${part.trim()}`)
    // The text may hold a password.
    if (!url?.hostname) throw new TypeError('the NATS address is malformed: expected nats://user:password@host:4222')
    return url
  })
  const servers = urls.map((url) => `${url.hostname}:${url.port || '4222'}`)
  const tls = urls.some((url) => url.protocol === 'tls:') ? { tls: {} } : {}
  const authority = urls.find((url) => url.username)
  if (!authority) return { servers, ...tls }
  const user = decodeURIComponent(authority.username)
  return { servers, ...tls, user, pass: decodeURIComponent(authority.password) }
}
