import type { EventDefinition } from '@gatehouse/contracts'
import { OutboxEvent } from '@gatehouse/domain'
import { currentSpan } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'

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
