import { defineEntity, p } from '@mikro-orm/core'

/** An event that has been committed with the fact it reports and waits to be published. Design: invariant 2. */
const OutboxEventSchema = defineEntity({
  name: 'OutboxEvent',
  tableName: 'outbox',
  properties: {
    id: p.bigint('string').primary().generated('identity'),
    eventId: p.uuid().unique('outbox_event_id_key'),
    subject: p.text(),
    payload: p.json<unknown>(),
    requestId: p.text().nullable(),
    /** Of the span in whose transaction it was saved, where traces are exported. */
    traceparent: p.text().nullable(),
    /** By the clock of the database, as is the age that the relay reports. */
    createdAt: p.datetime().defaultRaw('now()'),
  },
})

export class OutboxEvent extends OutboxEventSchema.class {}
OutboxEventSchema.setClass(OutboxEvent)
export { OutboxEventSchema }
