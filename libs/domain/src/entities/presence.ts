import { defineEntity, p } from '@mikro-orm/core'

/** `seenAt`: the last heartbeat, by the database's clock. */
const SessionNodeSchema = defineEntity({
  name: 'SessionNode',
  tableName: 'session_nodes',
  properties: {
    id: p.uuid().primary(),
    seenAt: p.datetime().defaultRaw('now()'),
  },
})

export class SessionNode extends SessionNodeSchema.class {}
SessionNodeSchema.setClass(SessionNode)

/** Contract: 6, status. */
const PresenceSchema = defineEntity({
  name: 'Presence',
  tableName: 'presences',
  properties: {
    userId: p.bigint('string').primary().autoincrement(false),
    nodeId: p.uuid().primary(),
  },
})

export class Presence extends PresenceSchema.class {}
PresenceSchema.setClass(Presence)
export { PresenceSchema, SessionNodeSchema }
