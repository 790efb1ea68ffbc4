import type { Bus } from '../bus.ts'
import { BusUnavailable } from '../bus-unavailable.ts'
import type { EventDefinition } from '@gatehouse/contracts'
import type { EntityManager, MikroORM } from '@mikro-orm/postgresql'

/** A saved fact. `payload` is its JSON. */
export type Fact = { id: string; eventId: string; subject: string; payload: string; requestId: string | null }

export type BatchOutcome = {
  /** Facts that the bus took and that are deleted. */
  published: Fact[]
  /** Facts that cannot be published as they are, each with the reason. */
  refused: { fact: Fact; error: unknown }[]
  /** Why the bus took nothing more, when it could not be used. */
  blockedBy: BusUnavailable | undefined
}

type Question = { events: ReadonlyMap<string, EventDefinition>; resting: Iterable<string>; limit: number }

/**
 * Publishes up to `limit` saved facts, oldest first, and deletes those that the bus has taken. Facts of which another
 * replica takes care, of unknown events, or that are resting are left alone. Design: Invariants 2.
 */
export async function relayBatch(deps: { orm: MikroORM; bus: Bus }, question: Question): Promise<BatchOutcome> {
  return deps.orm.em.fork().transactional(async (em) => {
    const facts = await lockOldest(em, question)
    const attempts = await Promise.allSettled(facts.map((fact) => publish(deps.bus, question.events, fact)))
    const outcome: BatchOutcome = { published: [], refused: [], blockedBy: undefined }
    attempts.forEach((attempt, index) => {
      const fact = facts[index]!
      if (attempt.status === 'fulfilled') outcome.published.push(fact)
      else if (attempt.reason instanceof BusUnavailable) outcome.blockedBy ??= attempt.reason
      else outcome.refused.push({ fact, error: attempt.reason })
    })
    await deleteFacts(em, outcome.published)
    return outcome
  })
}

async function publish(bus: Bus, events: Question['events'], fact: Fact): Promise<void> {
  const requestId = fact.requestId ?? undefined
  await bus.publish(events.get(fact.subject)!, JSON.parse(fact.payload), { id: fact.eventId, requestId })
}

async function lockOldest(em: EntityManager, { events, resting, limit }: Question): Promise<Fact[]> {
  const subjects = [...events.keys()]
  const left = [...resting]
  const notResting = left.length === 0 ? '' : `and id not in (${placeholders(left)})`
  return em.execute<Fact[]>(
    `select id::text as "id", event_id::text as "eventId", subject, payload::text as "payload", request_id as "requestId"
     from outbox where subject in (${placeholders(subjects)}) ${notResting}
     order by outbox.id limit ? for update skip locked`,
    [...subjects, ...left, limit],
  )
}

async function deleteFacts(em: EntityManager, facts: Fact[]): Promise<void> {
  if (facts.length === 0) return
  const ids = facts.map((fact) => fact.id)
  await em.execute(`delete from outbox where id in (${placeholders(ids)})`, ids)
}

function placeholders(values: unknown[]): string {
  return values.map(() => '?').join(', ')
}
