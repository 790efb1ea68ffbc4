import { setTimeout as pause } from 'node:timers/promises'
import type { ConsumerMessages, JsMsg, NatsConnection } from 'nats'
import type { EventName } from './event-names.ts'

/** docs/events.md. It may come again with the same `id`, and after a later one. */
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

/** One event at a time. It is delivered again when the handler throws. A missing consumer is waited for. */
export class EventSubscription implements AsyncDisposable {
  readonly #nc: NatsConnection
  readonly #options: Options
  readonly #stop = new AbortController()
  readonly #running: Promise<void>
  #messages: ConsumerMessages | undefined

  constructor(nc: NatsConnection, options: Options) {
    this.#nc = nc
    this.#options = options
    this.#running = this.#run()
  }

  /** Waits for the handler. Fetched events are delivered again at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    this.#messages?.stop()
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    const isStopped = () => signal.aborted
    while (!isStopped()) {
      try {
        await this.#pull()
      } catch (error) {
        if (!isMissing(error) && !isStopped()) this.#options.onError(error)
      }
      await pause(retryMs, undefined, { signal }).catch(() => undefined)
    }
  }

  async #pull(): Promise<void> {
    const { stream, consumer } = this.#options
    const bound = await this.#nc.jetstream().consumers.get(stream, consumer)
    const options = { max_messages: prefetch, expires: pullExpiresMs, abort_on_missing_resource: true }
    const messages = await bound.consume(options)
    this.#messages = messages
    if (this.#stop.signal.aborted) messages.stop()
    for await (const message of messages) {
      if (this.#stop.signal.aborted) message.nak()
      else await this.#deliver(message)
    }
  }

  async #deliver(message: JsMsg): Promise<void> {
    const { event: name, handle, onError } = this.#options
    const deliveries = message.info.deliveryCount
    const working = setInterval(() => message.working(), workingMs)
    try {
      const id = message.headers?.get('Nats-Msg-Id') ?? ''
      const requestId = message.headers?.get('X-Request-Id') || undefined
      await handle({ name, id, payload: message.json(), requestId, deliveries })
      message.ack()
    } catch (error) {
      onError(error)
      message.nak(Math.min(mostDelayMs, 100 * 2 ** Math.min(deliveries - 1, 16)))
    } finally {
      clearInterval(working)
    }
  }
}

function isMissing(error: unknown): boolean {
  return (error as { api_error?: { code?: number } }).api_error?.code === 404
}
