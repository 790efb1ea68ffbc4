import type { CallDefinition, EventDefinition } from '@gatehouse/contracts'
import type { z } from 'zod'

/** Travels beside every message, so that one request can be followed through all processes. */
export type Context = {
  requestId?: string | undefined
  /** Of the sender's span, where traces are exported. W3C Trace Context. */
  traceparent?: string | undefined
}

/**
 * An event as its handler gets it, told apart by `name` where several are consumed. `deliveries` is 1 at the first
 * attempt; the same `id` may be delivered again. A broadcast has none: it is empty there.
 */
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

/** Disposing it stops the deliveries and waits for the handlers under way. */
export type Subscription = AsyncDisposable

export type BusLog = { warn(fields: object, message: string): void; error(fields: object, message: string): void }

/**
 * How services talk to each other: durable events, broadcasts that may be lost, and requests.
 * Payloads are JSON and are parsed with the definition's schemas at both ends.
 */
export type Bus = AsyncDisposable & {
  /**
   * Resolves when the event is stored. Repeated publishes with the same `id` (a uuid) within two minutes are one event.
   * Throws `BusUnavailable`; the event may then have been stored all the same.
   */
  publish<P extends z.ZodType>(
    event: EventDefinition<P>,
    payload: z.input<P>,
    options: Context & { id: string },
  ): Promise<void>

  /**
   * One member of `group` gets each event, at least once: again, with growing delays, while the handler throws or when
   * the process dies. A new group may also get events from before its first subscription. Handlers must be idempotent;
   * of several events each is delivered independently of the others.
   */
  consume<E extends EventDefinition>(
    events: E | readonly E[],
    group: string,
    handler: EventHandler<E>,
  ): Promise<Subscription>

  /**
   * Every subscriber gets each event published from now on, in the order of publication, across restarts of NATS. A
   * handler that throws is logged and not called again for that event.
   */
  subscribe<E extends EventDefinition>(events: E | readonly E[], handler: EventHandler<E>): Promise<Subscription>

  /** For what may be lost. With `to`, only receivers under that name get it; without, only receivers without a name. */
  broadcast<P extends z.ZodType>(
    event: EventDefinition<P>,
    payload: z.input<P>,
    options?: Context & { to?: string | undefined },
  ): void

  /** Receives broadcasts while subscribed, in order. */
  onBroadcast<E extends EventDefinition>(
    event: E,
    handler: EventHandler<E>,
    options?: { as?: string | undefined },
  ): Promise<Subscription>

  /** Asks one responder. Rejects with the `Refusal` it threw, or with `BusUnavailable`. */
  request<Q extends z.ZodType, A extends z.ZodType>(
    call: CallDefinition<Q, A>,
    payload: z.input<Q>,
    options: Context & { timeoutMs: number },
  ): Promise<z.output<A>>

  /**
   * Responds to a call; of several responders one gets each request. A fault is logged here and reads `internal` or
   * `unavailable` there.
   */
  respond<Q extends z.ZodType, A extends z.ZodType>(
    call: CallDefinition<Q, A>,
    handler: (payload: z.output<Q>, context: Context) => Promise<z.input<A>>,
  ): Promise<Subscription>

  /** Resolves when NATS has what was broadcast until now. Rejects with `BusUnavailable` where some of it may be lost. */
  flush(): Promise<void>

  /** Calls `listener` whenever broadcasts may have been lost: when the connection is there again. */
  onReconnect(listener: () => void): Disposable

  /** Whether it can be used now, for /readyz. */
  ready(): boolean

  /** Only over NATS: the in-process bus reaches no service of others. */
  readonly plain?: PlainSubjects
}

/** Subjects, in full, whose messages are not defined here: bytes, without a version, a schema or an id. */
export type PlainSubjects = {
  /** With which the subjects of the bus begin. */
  readonly prefix: string

  /** Asks one responder. Rejects with `BusUnavailable`. */
  request(subject: string, message: string, options: { timeoutMs: number }): Promise<Uint8Array>

  /** Receives what is published while subscribed, in the order in which it comes. */
  subscribe(subject: string, receive: (message: Uint8Array) => void): Promise<Subscription>

  /**
   * Durable consumers of the events from which others pull: makes those that are wanted, and renews them. Others with that
   * prefix are deleted when no process has renewed them for ten minutes.
   */
  keepConsumers(consumers: PulledConsumers): Promise<Subscription>

  /** Deletes such consumers at once, with their positions. Rejects with `BusUnavailable`. */
  deleteConsumers(names: readonly string[]): Promise<void>
}

export type PulledConsumers = {
  prefix: string
  /** `subject` as in the definition of the event. */
  wanted: readonly { name: string; subject: string }[]
  /** After this time without an acknowledgment an event is delivered again. */
  ackWaitMs: number
  renewMs?: number
}
