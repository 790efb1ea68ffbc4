import type { AdminChangedMessage, PresenceMessage, ReadyMessage, User } from '../api/records.ts'

/** The part of `ready` that this library reads; other parts of the chat system add theirs. */
export type ReadyEvent = Pick<ReadyMessage, 'type' | 'user' | 'sessionId' | 'serverTime' | 'instance' | 'presences'>
export type PresenceUpdate = PresenceMessage
/** What has changed; other values than these may come from newer servers. */
export type AdminChange = AdminChangedMessage
/** Any other event, also those of other parts of the chat system. */
export type OtherEvent = { type: string; [field: string]: unknown }
export type ServerEvent = ReadyEvent | PresenceUpdate | OtherEvent

/** The event in a frame, or null for a malformed frame. The fields of an event are checked where they are used. */
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
