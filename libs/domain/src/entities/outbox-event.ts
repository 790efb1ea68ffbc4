import { defineEntity, p } from '@mikro-orm/core'

/** Design: invariant 2. */
const OutboxEventSchema = defineEntity({
  name: 'OutboxEvent',
  tableName: 'outbox',
  properties: {
    id: p.bigint('string').primary().generated('identity'),
    eventId: p.uuid().unique('outbox_event_id_key'),
    subject: p.text(),
    payload: p.json<unknown>(),
    requestId: p.text().nullable(),
    traceparent: p.text().nullable(),
    /** By the database's clock. */
    createdAt: p.datetime().defaultRaw('now()'),
  },
})

export class OutboxEvent extends OutboxEventSchema.class {}
OutboxEventSchema.setClass(OutboxEvent)
