import { p } from '@mikro-orm/core'
import { defineTable } from './table.ts'

/** `seenAt`: the last heartbeat, by the database's clock. */
export const SessionNode = defineTable('SessionNode', 'session_nodes', {
  id: p.uuid().primary(),
  seenAt: p.datetime().defaultRaw('now()'),
})

/** One row for each node where a user is online. The status is `offline` without any. Contract: 6, status. */
export const Presence = defineTable('Presence', 'presences', {
  userId: p.bigint('string').primary().autoincrement(false),
  nodeId: p.uuid().primary(),
})

/** One row for each user who ever connected. `changed`: the transaction that last changed the status. */
export const PresenceChange = defineTable('PresenceChange', 'presence_changes', {
  userId: p.bigint('string').primary().autoincrement(false),
  changed: p.string().columnType('xid8').defaultRaw('pg_current_xact_id()'),
  nodeId: p.uuid(),
})
