import type { EventDefinition } from '@gatehouse/contracts'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'

/**
 * Saves a fact in the transaction of `em`, to be published after its commit. `id` is the event's uuid.
 * Throws when the payload does not fit the event's schema.
 */
export async function enqueue<P extends z.ZodType>(
  em: EntityManager,
  event: EventDefinition<P>,
  payload: z.input<P>,
  options: { id: string; requestId?: string | undefined },
): Promise<void> {
  const row = [options.id, event.subject, JSON.stringify(event.payload.parse(payload)), options.requestId ?? null]
  await em.execute('insert into outbox (event_id, subject, payload, request_id) values (?, ?, ?::jsonb, ?)', row)
}
