import type { Bus, BusLog } from '../bus.ts'
import type { EventDefinition } from '@gatehouse/contracts'
import type { MikroORM } from '@mikro-orm/postgresql'
import { createAlarm } from './alarm.ts'
import { relayBatch } from './batch.ts'
import { createRestingPlace } from './resting-place.ts'

const BATCH = 200
const POLL_MS = 500
const FIRST_RETRY_MS = 100
const LONGEST_RETRY_MS = 2_000

export type OutboxRelayDeps = { orm: MikroORM; bus: Bus; log: BusLog; events: readonly EventDefinition[] }

export type OutboxRelayOptions = { pollMs?: number }

export type OutboxRelay = AsyncDisposable & {
  /** Publishes what has been committed, at once. */
  kick(): void
  /** The age of the oldest saved fact in ms; 0 when there is none. */
  age(): Promise<number>
}

/**
 * Publishes saved facts, oldest first, until disposed; then it finishes the batch under way. Several replicas share the
 * table. Facts stay saved until the bus has them; a fact that cannot be published is logged, rests and is tried again
 * while the others pass. Only facts of `events` are touched, so that an older release leaves newer ones alone.
 * Design: Invariants 2.
 */
export function startOutboxRelay(deps: OutboxRelayDeps, options: OutboxRelayOptions = {}): OutboxRelay {
  const { orm, log } = deps
  const { pollMs = POLL_MS } = options
  const events = new Map(deps.events.map((event) => [event.subject, event]))
  const resting = createRestingPlace()
  const alarm = createAlarm()
  let failures = 0
  let stopping = false

  /** Whether there may be more to do at once. */
  async function relay(): Promise<boolean> {
    const { published, refused, blockedBy } = await relayBatch(deps, { events, resting: resting.ids(), limit: BATCH })
    published.forEach((fact) => resting.forget(fact.id))
    for (const { fact, error } of refused) {
      const restMs = resting.rest(fact.id)
      const about = { event: fact.subject, id: fact.eventId, requestId: fact.requestId ?? undefined, restMs }
      log.error({ err: error, ...about }, 'a saved fact could not be published')
    }
    if (blockedBy) throw blockedBy
    return published.length + refused.length === BATCH
  }

  async function run() {
    while (!stopping) {
      try {
        const more = await relay()
        failures = 0
        if (!more) await alarm.ringsWithin(pollMs)
      } catch (error) {
        const retryInMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures, 10))
        failures += 1
        if (!stopping) log.warn({ err: error, retryInMs }, 'saved facts wait to be published')
        await alarm.quietFor(retryInMs)
      }
    }
  }

  const running = events.size > 0 ? run() : Promise.resolve()
  return {
    kick: () => alarm.ring(),
    age: () => oldestAgeMs(orm),
    async [Symbol.asyncDispose]() {
      stopping = true
      alarm.stop()
      await running
      resting.clear()
    },
  }
}

async function oldestAgeMs(orm: MikroORM): Promise<number> {
  const sql = `select (extract(epoch from now() - created_at) * 1000)::float8 as "ageMs" from outbox order by id limit 1`
  const rows = await orm.em.fork().execute<{ ageMs: number }[]>(sql)
  return Math.max(0, Number(rows[0]?.ageMs ?? 0))
}
