import type { CallDefinition, EventDefinition } from '@gatehouse/contracts'
import { Unavailable } from '@gatehouse/runtime'
import type { z } from 'zod'

export type Context = { requestId?: string | undefined; traceparent?: string | undefined }

/** `deliveries` is 1 at the first attempt. The same `id` may be delivered again. A broadcast has the empty `id`. */
export type Envelope = { id: string; requestId: string | undefined; traceparent?: string; deliveries: number }

export type Received<E extends EventDefinition = EventDefinition> =
  E extends EventDefinition<infer P, infer N> ? Envelope & { name: N; payload: z.output<P> } : never

export type EventHandler<E extends EventDefinition = EventDefinition> = (received: Received<E>) => Promise<void>

export type Subscription = AsyncDisposable
export type BusLog = { warn(fields: object, message: string): void; error(fields: object, message: string): void }

/** Both ends parse payloads with the definition's schema. */
export type Bus = AsyncDisposable & {
  /**
   * One `id` (a uuid), which what is kept needs, is one event within two minutes. Rejects with `BusUnavailable`; the event may be stored all the same.
   * A broadcast is sent at once or lost. With `to`, only subscribers under that name get it; without, only those without.
   */
  publish<P extends z.ZodType>(
    event: EventDefinition<P>,
    payload: z.input<P>,
    options?: Context & { id?: string | undefined; to?: string | undefined },
  ): Promise<void>
  /**
   * Every subscriber gets each later event in order. An event that a handler fails on is not repeated. With `group`, one
   * member of it gets each event at least once: it is repeated while the handler throws or its process dies, and a new
   * group may get older events too. Handlers must be idempotent. `as` is the name for broadcasts.
   */
  subscribe<E extends EventDefinition>(
    events: E | readonly E[],
    handler: EventHandler<E>,
    options?: { group?: string; as?: string },
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
  ready(): boolean
  /** What the streams of a cluster lack: a leader, replicas, nodes that hold them. Rejects with `BusUnavailable`. Contract: 8, NATS of three nodes. */
  listStreamFaults(): Promise<string[]>
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
  wanted: readonly { name: string; event: EventDefinition }[]
  /** An event without an acknowledgment is then redelivered. */
  ackWaitMs: number
  renewMs?: number
  /** At each renewal: how many events of a stream each of its consumers has not acknowledged. */
  onPending?: (stream: string, pending: ReadonlyMap<string, number>) => void
}

const messages = {
  'no-responders': 'no process responds to the call',
  timeout: 'no response in time',
  'no-stream': 'the stream does not exist yet',
  disconnected: 'no connection to NATS',
}

/** No responder, no response in time, or no connection. Contract: 1, statuses. */
export class BusUnavailable extends Unavailable {
  override readonly name = 'BusUnavailable'
  readonly reason: keyof typeof messages

  constructor(reason: keyof typeof messages, cause?: unknown) {
    super(`Bus unavailable: ${messages[reason]}`, cause === undefined ? {} : { cause })
    this.reason = reason
  }
}
