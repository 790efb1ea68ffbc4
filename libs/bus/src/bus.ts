import type { CallDefinition, EventDefinition } from '@gatehouse/contracts'
import type { z } from 'zod'

/** Travels beside every message, so that one request can be followed through all processes. */
export type Context = { requestId?: string | undefined }

/** What a receiver gets. `deliveries` is 1 at the first attempt; the same `id` may come again. */
export type Received<P> = { id: string; payload: P; requestId: string | undefined; deliveries: number }

export type Receive<P extends z.ZodType> = (received: Received<z.output<P>>) => Promise<void>

/** Disposing it stops the deliveries and waits for the handlers under way. */
export type Subscription = AsyncDisposable

export type BusLog = { warn(o: object, msg: string): void; error(o: object, msg: string): void }

/**
 * How services talk to each other: facts that must not be lost, announcements that may be, and questions.
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
   * the process dies. A new group may also get events from before its first subscription. Handlers must be idempotent.
   */
  subscribe<P extends z.ZodType>(event: EventDefinition<P>, group: string, handler: Receive<P>): Promise<Subscription>

  /**
   * Every process that listens hears each event published from now on, in order, across restarts of NATS. A handler that
   * throws is logged and not called again for that event.
   */
  listen<P extends z.ZodType>(event: EventDefinition<P>, handler: Receive<P>): Promise<Subscription>

  /** For what may be lost. With `to`, only those who hear `as` that name get it; without, only those who hear without. */
  announce<P extends z.ZodType>(
    event: EventDefinition<P>,
    payload: z.input<P>,
    options?: Context & { to?: string | undefined },
  ): void

  /** Hears what is announced while it listens, in order. */
  hear<P extends z.ZodType>(
    event: EventDefinition<P>,
    handler: Receive<P>,
    options?: { as?: string | undefined },
  ): Promise<Subscription>

  /** Asks one answerer. Rejects with the `Refusal` it threw, or with `BusUnavailable`. */
  request<Q extends z.ZodType, A extends z.ZodType>(
    call: CallDefinition<Q, A>,
    payload: z.input<Q>,
    options: Context & { timeoutMs: number },
  ): Promise<z.output<A>>

  /** Answers a call; of several answerers one gets each request. A fault is logged here and reads `internal` there. */
  answer<Q extends z.ZodType, A extends z.ZodType>(
    call: CallDefinition<Q, A>,
    handler: (payload: z.output<Q>, context: Context) => Promise<z.input<A>>,
  ): Promise<Subscription>

  /** Whether it can be used now, for /readyz. */
  ready(): boolean
}
