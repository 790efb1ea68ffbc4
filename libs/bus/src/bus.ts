import type { CallDefinition, EventDefinition } from '@gatehouse/contracts'
import type { z } from 'zod'

export type Context = {
  requestId?: string | undefined
  traceparent?: string | undefined
}

/** `deliveries` is 1 at the first attempt. The same `id` may be delivered again. A broadcast has the empty `id`. */
export type Received<E extends EventDefinition = EventDefinition> =
  E extends EventDefinition<infer P, infer N>
    ? {
        name: N
        id: string
        payload: z.output<P>
        requestId: string | undefined
        traceparent?: string
        deliveries: number
      }
    : never

export type EventHandler<E extends EventDefinition = EventDefinition> = (received: Received<E>) => Promise<void>

export type Subscription = AsyncDisposable

export type BusLog = { warn(fields: object, message: string): void; error(fields: object, message: string): void }

/** Payloads are JSON. Both ends parse them with the definition's schemas. */
export type Bus = AsyncDisposable & {
  /** One `id` (a uuid) within two minutes is one event. Throws `BusUnavailable`; the event may be stored all the same. */
  publish<P extends z.ZodType>(
    event: EventDefinition<P>,
    payload: z.input<P>,
    options: Context & { id: string },
  ): Promise<void>

  /**
   * One member of `group` gets each event at least once. The event is repeated while the handler throws or its process
   * dies. A new group may get older events too. Handlers must be idempotent.
   */
  consume<E extends EventDefinition>(
    events: E | readonly E[],
    group: string,
    handler: EventHandler<E>,
  ): Promise<Subscription>

  /** Every subscriber gets each later event in order. An event that a handler fails on is not repeated. */
  subscribe<E extends EventDefinition>(events: E | readonly E[], handler: EventHandler<E>): Promise<Subscription>

  /** Broadcasts may be lost. With `to`, only receivers under that name get it; without, only receivers without a name. */
  broadcast<P extends z.ZodType>(
    event: EventDefinition<P>,
    payload: z.input<P>,
    options?: Context & { to?: string | undefined },
  ): void

  onBroadcast<E extends EventDefinition>(
    event: E,
    handler: EventHandler<E>,
    options?: { as?: string | undefined },
  ): Promise<Subscription>

  request<Q extends z.ZodType, A extends z.ZodType>(
    call: CallDefinition<Q, A>,
    payload: z.input<Q>,
    options: Context & { timeoutMs: number },
  ): Promise<z.output<A>>

  /** One responder gets each request. A fault is logged here and reads `internal` or `unavailable` there. */
  respond<Q extends z.ZodType, A extends z.ZodType>(
    call: CallDefinition<Q, A>,
    handler: (payload: z.output<Q>, context: Context) => Promise<z.input<A>>,
  ): Promise<Subscription>

  /** Resolves when NATS has all broadcasts so far. Rejects with `BusUnavailable` where some may be lost. */
  flush(): Promise<void>

  /** Calls `listener` after a reconnection: broadcasts may have been lost. */
  onReconnect(listener: () => void): Disposable

  ready(): boolean

  readonly plain?: PlainSubjects
}

/** Messages on full subjects, as bytes without a schema. */
export type PlainSubjects = {
  readonly prefix: string

  request(subject: string, message: string, options: { timeoutMs: number }): Promise<Uint8Array>

  subscribe(subject: string, receive: (message: Uint8Array) => void): Promise<Subscription>

  /** Those with that prefix that nobody renews are deleted after ten minutes. */
  keepConsumers(consumers: PulledConsumers): Promise<Subscription>

  /** Their positions are deleted too. Rejects with `BusUnavailable`. */
  deleteConsumers(names: readonly string[]): Promise<void>
}

export type PulledConsumers = {
  prefix: string
  wanted: readonly { name: string; subject: string }[]
  /** An event without an acknowledgment is then redelivered. */
  ackWaitMs: number
  renewMs?: number
}
