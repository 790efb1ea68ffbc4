import type { EventDefinition } from '@gatehouse/contracts'
import { backoffMs } from '@gatehouse/runtime'
import type { MikroORM } from '@mikro-orm/postgresql'
import type { Bus, BusLog } from '../bus.ts'
import { outboxBatch, outboxPollMs, outboxRetryBackoff } from '../policy.ts'
import { relayBatch } from './batch.ts'
import { createEventBackoff } from './event-backoff.ts'
import { createSignal } from './signal.ts'

export type OutboxRelayDeps = { orm: MikroORM; bus: Bus; log: BusLog; events: readonly EventDefinition[] }

export type OutboxRelayOptions = { pollMs?: number }

export type OutboxRelay = AsyncDisposable & {
  notify(): void
  /** Of the oldest event, in ms; 0 when there is none. */
  age(): Promise<number>
}

/** Replicas share the table. Only `events` are touched: a newer release may add others. Design: Invariants 2. */
export function startOutboxRelay(deps: OutboxRelayDeps, options: OutboxRelayOptions = {}): OutboxRelay {
  const { orm, log } = deps
  const { pollMs = outboxPollMs } = options
  const definitions = new Map(deps.events.map((event) => [event.subject, event]))
  const backoff = createEventBackoff()
  const signal = createSignal()

  /** True when more may wait. */
  async function relay(): Promise<boolean> {
    const batch = { definitions, excluded: backoff.ids(), limit: outboxBatch }
    const { published, failed, brokerError } = await relayBatch(deps, batch)
    published.forEach((event) => backoff.forget(event.id))
    for (const { event, error } of failed) {
      const retryInMs = backoff.fail(event.id)
      const about = { event: event.subject, id: event.eventId, requestId: event.requestId ?? undefined, retryInMs }
      log.error({ err: error, ...about }, 'outbox event not publishable')
    }
    if (brokerError) throw brokerError
    return published.length + failed.length === outboxBatch
  }

  async function run() {
    let failures = 0
    while (!signal.isStopped()) {
      try {
        const more = await relay()
        failures = 0
        if (!more) await signal.waitFor(pollMs)
      } catch (err) {
        const retryInMs = backoffMs(failures, outboxRetryBackoff)
        failures += 1
        if (!signal.isStopped()) log.warn({ err, retryInMs }, 'outbox relay failed, retry scheduled')
        await signal.sleep(retryInMs)
      }
    }
  }

  const running = definitions.size > 0 ? run() : Promise.resolve()
  return {
    notify: () => signal.notify(),
    age: () => oldestAgeMs(orm),
    async [Symbol.asyncDispose]() {
      signal.stop()
      await running
      backoff.clear()
    },
  }
}

/** The clock of the database set `created_at`. */
async function oldestAgeMs(orm: MikroORM): Promise<number> {
  const sql = `select (extract(epoch from now() - created_at) * 1000)::float8 as "ageMs" from outbox order by id limit 1`
  const [oldest] = await orm.em.fork().execute<{ ageMs: number }[]>(sql)
  return Math.max(0, oldest?.ageMs ?? 0)
}
