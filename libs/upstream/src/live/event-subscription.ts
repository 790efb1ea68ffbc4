import { setTimeout as pause } from 'node:timers/promises'
import type { ConsumerMessages, JsMsg, NatsConnection } from 'nats'
import type { EventName } from './event-names.ts'

/** docs/reference/events.md. It may come again with the same `id`, and after a later one. */
export type UpstreamEvent = {
  name: EventName
  id: string
  payload: Record<string, unknown>
  requestId: string | undefined
  /** 1 at the first delivery. */
  deliveries: number
}

export type EventHandler = (event: UpstreamEvent) => void | Promise<void>

type Options = {
  stream: string
  consumer: string
  event: EventName
  handle: EventHandler
  onError: (error: unknown) => void
}

const retryMs = 1_000
const prefetch = 32
const pullExpiresMs = 5_000
/** After it a handler reports that it still works. */
const workingMs = 10_000
const mostDelayMs = 30_000

/** One event at a time, delivered again when the handler throws. A missing consumer is waited for. */
export function subscribeEvent(nc: NatsConnection, { stream, consumer, event, handle, onError }: Options) {
  const stop = new AbortController()
  const isStopped = () => stop.signal.aborted
  let messages: ConsumerMessages | undefined

  async function run(): Promise<void> {
    while (!isStopped()) {
      try {
        await pull()
      } catch (error) {
        const isMissing = (error as { api_error?: { code?: number } }).api_error?.code === 404
        if (!isMissing && !isStopped()) onError(error)
      }
      await pause(retryMs, undefined, { signal: stop.signal }).catch(() => undefined)
    }
  }

  async function pull(): Promise<void> {
    const bound = await nc.jetstream().consumers.get(stream, consumer)
    const options = { max_messages: prefetch, expires: pullExpiresMs, abort_on_missing_resource: true }
    messages = await bound.consume(options)
    if (isStopped()) messages.stop()
    for await (const message of messages) {
      if (isStopped()) message.nak()
      else await deliver(message)
    }
  }

  async function deliver(message: JsMsg): Promise<void> {
    const deliveries = message.info.deliveryCount
    const working = setInterval(() => message.working(), workingMs)
    try {
      const id = message.headers?.get('Nats-Msg-Id') ?? ''
      const requestId = message.headers?.get('X-Request-Id') || undefined
      await handle({ name: event, id, payload: message.json(), requestId, deliveries })
      message.ack()
    } catch (error) {
      onError(error)
      message.nak(Math.min(mostDelayMs, 100 * 2 ** Math.min(deliveries - 1, 16)))
    } finally {
      clearInterval(working)
    }
  }

  const running = run()
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      messages?.stop()
      await running
    },
  }
}
