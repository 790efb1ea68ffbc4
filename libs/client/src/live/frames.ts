import type { AdminChangedMessage, PresenceMessage, ReadyMessage, User } from '../api/records.ts'

export type ReadyEvent = Pick<ReadyMessage, 'type' | 'user' | 'sessionId' | 'serverTime' | 'instance' | 'presences'>
export type PresenceUpdate = PresenceMessage
/** Newer servers may send other values. */
export type AdminChange = AdminChangedMessage
export type OtherEvent = { type: string; [field: string]: unknown }
export type ServerEvent = ReadyEvent | PresenceUpdate | OtherEvent

/** Null: malformed. Fields are checked where used. */
export function readFrame(data: unknown): OtherEvent | null {
  try {
    const frame = JSON.parse(String(data)) as Partial<OtherEvent> | null
    return typeof frame?.type === 'string' ? (frame as OtherEvent) : null
  } catch {
    return null
  }
}

export function isReady(event: ServerEvent): event is ReadyEvent {
  if (event.type !== 'ready') return false
  const { user, presences } = event as { user?: Partial<User> | null; presences?: object | null }
  return typeof user?.id === 'string' && typeof presences === 'object' && presences !== null
}

export function isPresenceUpdate(event: ServerEvent): event is PresenceUpdate {
  if (event.type !== 'presence_update') return false
  const { userId, status } = event as Partial<PresenceUpdate>
  return typeof userId === 'string' && (status === 'online' || status === 'offline')
}
