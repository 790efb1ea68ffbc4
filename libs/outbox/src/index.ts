import { setTimeout as pause } from 'node:timers/promises'
import { BusUnavailable, type Bus } from '@gatehouse/bus'
import type { EventDefinition } from '@gatehouse/contracts'
import { read, transaction } from '@gatehouse/database'
import { OutboxEvent } from '@gatehouse/domain'
import { backoffMs, currentSpan } from '@gatehouse/runtime'
import { LockMode, type EntityManager, type MikroORM } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import { failedEventBackoff, outboxBatch, outboxPollMs, outboxRetryBackoff } from './policy.ts'

type Log = Record<'warn' | 'error', (fields: object, message: string) => void>
type OutboxRelayDeps = { orm: MikroORM; bus: Bus; log: Log; events: readonly EventDefinition[] }

export type OutboxRelay = ReturnType<typeof startOutboxRelay>

/** Saves an event in the transaction of `em`. Throws when the payload does not fit the schema. Design: Invariants 2. */
export async function enqueue<P extends z.ZodType>(
  em: EntityManager,
  event: EventDefinition<P>,
  payload: z.input<P>,
  options: { id: string; requestId?: string | undefined },
): Promise<void> {
  const { id: eventId, requestId = null } = options
  const traceparent = currentSpan()?.traceparent ?? null
  const saved = { eventId, subject: event.subject, payload: event.payload.parse(payload), requestId, traceparent }
  await em.insert(OutboxEvent, saved)
}

/** Replicas share the table. Only `events` are touched: a newer release may add others. Design: Invariants 2. */
export function startOutboxRelay(deps: OutboxRelayDeps, { pollMs = outboxPollMs } = {}) {
  // What ends sessions does not wait for a stream that refuses other events.
  const byStream = Map.groupBy(deps.events, ({ stream }) => stream)
  const relays = [...byStream.values()].map((events) => startRelay({ ...deps, events }, pollMs))
  return {
    notify: (): void => relays.forEach((relay) => relay.notify()),
    /** Of the oldest event, in ms; 0 when there is none. */
    async age(): Promise<number> {
      const sql = `select (extract(epoch from now() - created_at) * 1000)::float8 as "ageMs" from outbox order by id limit 1`
      const [oldest] = await read<{ ageMs: number }>(deps.orm.em.fork(), sql)
      return Math.max(0, oldest?.ageMs ?? 0)
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await Promise.all(relays.map((relay) => relay.stop()))
    },
  }
}

// eslint-disable-next-line max-lines-per-function -- one thing: its functions share its state
function startRelay({ orm, bus, log, events: own }: OutboxRelayDeps, pollMs: number) {
  const definitions = new Map(own.map((event) => [event.subject, event]))
  const failed = new Map<string, { failures: number; retryAt: number }>()
  const ending = new AbortController()
  const { signal } = ending
  const isStopped = () => signal.aborted
  let notified = false
  let wake = () => {}

  async function waitForNotification(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    wake = resolve
    const timer = setTimeout(resolve, notified || isStopped() ? 0 : pollMs)
    await promise
    clearTimeout(timer)
    notified = false
  }

  function backOff(event: OutboxEvent, err: unknown): void {
    const { failures } = failed.get(event.id) ?? { failures: 0 }
    const retryInMs = backoffMs(failures, failedEventBackoff)
    failed.set(event.id, { failures: failures + 1, retryAt: performance.now() + retryInMs })
    const about = { event: event.subject, id: event.eventId, requestId: event.requestId ?? undefined, retryInMs }
    log.error({ err, ...about }, 'outbox event not publishable')
  }

  async function publishEvent({ subject, payload, eventId, requestId, traceparent }: OutboxEvent): Promise<void> {
    const definition = definitions.get(subject)
    const about = { id: eventId, requestId: requestId ?? undefined, traceparent: traceparent ?? undefined }
    if (definition) await bus.publish(definition, payload, about)
  }

  /** Publishes a batch, oldest first, and deletes it. Locked events are skipped. True when more may wait. */
  async function relay(): Promise<boolean> {
    // The outbox is mostly empty, and a transaction is expensive.
    const [waiting] = await read(orm.em.fork(), 'select 1 from outbox limit 1')
    if (!waiting) return false
    const now = performance.now()
    const backedOff = [...failed].flatMap(([id, { retryAt }]) => (retryAt > now ? [id] : []))
    const { more, brokerError } = await transaction(orm, async (em) => {
      const events = await em.find(
        OutboxEvent,
        { subject: { $in: [...definitions.keys()] }, id: { $nin: backedOff } },
        { orderBy: { id: 'asc' }, limit: outboxBatch, lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE },
      )
      let brokerError: BusUnavailable | undefined
      const published: string[] = []
      const publish = async (event: OutboxEvent) => {
        try {
          await publishEvent(event)
          published.push(event.id)
        } catch (error) {
          if (error instanceof BusUnavailable) brokerError ??= error
          else backOff(event, error)
        }
      }
      await Promise.all(events.map(publish))
      if (published.length > 0) await em.nativeDelete(OutboxEvent, { id: { $in: published } })
      for (const id of published) failed.delete(id)
      return { more: events.length === outboxBatch, brokerError }
    })
    if (brokerError) throw brokerError
    return more
  }

  async function run() {
    let failures = 0
    while (!isStopped()) {
      try {
        const more = await relay()
        failures = 0
        if (!more) await waitForNotification()
      } catch (err) {
        const retryInMs = backoffMs(failures, outboxRetryBackoff)
        failures += 1
        if (!isStopped()) log.warn({ err, retryInMs }, 'outbox relay failed, retry scheduled')
        await pause(retryInMs, undefined, { signal }).catch(() => {})
      }
    }
  }

  const running = run()
  return {
    notify() {
      notified = true
      wake()
    },
    async stop() {
      ending.abort()
      wake()
      await running
    },
  }
}
