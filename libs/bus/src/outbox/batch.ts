import type { EventDefinition } from '@gatehouse/contracts'
import { OutboxEvent } from '@gatehouse/domain'
import { LockMode, type MikroORM } from '@mikro-orm/postgresql'
import type { Bus } from '../bus.ts'
import { BusUnavailable } from '../bus-unavailable.ts'

export type BatchOutcome = {
  published: OutboxEvent[]
  failed: { event: OutboxEvent; error: unknown }[]
  /** Set when the bus could not be used. */
  brokerError: BusUnavailable | undefined
}

type Batch = {
  definitions: ReadonlyMap<string, EventDefinition>
  excluded: Iterable<string>
  limit: number
}

/** Publishes up to `limit` events, oldest first, and deletes them. Locked ones are skipped. Design: Invariants 2. */
export async function relayBatch(deps: { orm: MikroORM; bus: Bus }, batch: Batch): Promise<BatchOutcome> {
  const { definitions, excluded, limit } = batch
  const fork = deps.orm.em.fork()
  // The outbox is mostly empty, and a transaction is expensive.
  const [waiting] = await fork.execute<object[]>('select 1 from outbox limit 1')
  if (!waiting) return { published: [], failed: [], brokerError: undefined }
  return await fork.transactional(async (em) => {
    const events = await em.find(
      OutboxEvent,
      { subject: { $in: [...definitions.keys()] }, id: { $nin: [...excluded] } },
      { orderBy: { id: 'asc' }, limit, lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE },
    )
    const outcome: BatchOutcome = { published: [], failed: [], brokerError: undefined }
    const attempts = events.map(async (event) => {
      try {
        await publish(deps.bus, definitions, event)
        outcome.published.push(event)
      } catch (error) {
        if (error instanceof BusUnavailable) outcome.brokerError ??= error
        else outcome.failed.push({ event, error })
      }
    })
    await Promise.all(attempts)
    const ids = outcome.published.map(({ id }) => id)
    if (ids.length > 0) await em.nativeDelete(OutboxEvent, { id: { $in: ids } })
    return outcome
  })
}

async function publish(bus: Bus, definitions: Batch['definitions'], event: OutboxEvent): Promise<void> {
  const definition = definitions.get(event.subject)
  if (!definition) throw new Error(`no event has the subject ${event.subject}`)
  const { eventId: id, requestId, traceparent } = event
  const context = { requestId: requestId ?? undefined, traceparent: traceparent ?? undefined }
  await bus.publish(definition, event.payload, { id, ...context })
}
