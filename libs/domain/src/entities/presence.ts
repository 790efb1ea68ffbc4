import { p } from '@mikro-orm/core'
import { defineTable } from './table.ts'

/** `seenAt`: the last heartbeat, by the database's clock. */
const SessionNodeSchema = defineTable('SessionNode', 'session_nodes', {
  id: p.uuid().primary(),
  seenAt: p.datetime().defaultRaw('now()'),
})

export class SessionNode extends SessionNodeSchema.class {}
SessionNodeSchema.setClass(SessionNode)

/** Contract: 6, status. */
export const PresenceSchema = defineTable('Presence', 'presences', {
  userId: p.bigint('string').primary().autoincrement(false),
  nodeId: p.uuid().primary(),
})

/** One row for each user who ever connected. `changed`: the transaction that last changed the status. */
const PresenceChangeSchema = defineTable('PresenceChange', 'presence_changes', {
  userId: p.bigint('string').primary().autoincrement(false),
  changed: p.string().columnType('xid8').defaultRaw('pg_current_xact_id()'),
  nodeId: p.uuid(),
})

export class PresenceChange extends PresenceChangeSchema.class {}
PresenceChangeSchema.setClass(PresenceChange)
