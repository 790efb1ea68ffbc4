import { defineEntity, p } from '@mikro-orm/core'

const AuditEntrySchema = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_log',
  properties: {
    id: p.bigint('string').primary().autoincrement(false).defaultRaw('next_snowflake()'),
    action: p.text(),
    actorId: p.bigint('string').nullable(),
    actorUsername: p.text().nullable(),
    targetType: p.text(),
    targetId: p.text().nullable(),
    /** The name that a user had then. */
    targetName: p.text().nullable(),
    detail: p.json<Record<string, unknown>>(),
    createdAt: p.datetime(),
  },
})

export class AuditEntry extends AuditEntrySchema.class {}
AuditEntrySchema.setClass(AuditEntry)
