import type { Status, User } from '../api/records.ts'

export type ReadyEvent = {
  type: 'ready'
  user: User
  sessionId: string
  serverTime: number
  instance: { name: string; instanceId: string; version: string }
  presences: Record<string, Status>
}
export type PresenceUpdate = { type: 'presence_update'; userId: string; status: Status }
/** Any other event, also those of other parts of the chat system. */
export type OtherEvent = { type: string; [field: string]: unknown }
export type ServerEvent = ReadyEvent | PresenceUpdate | OtherEvent

/** Reads a frame; null when it is none. The server is trusted with the fields, not with being well-formed. */
export function parseFrame(data: unknown): OtherEvent | null {
  if (typeof data !== 'string') return null
  try {
    const frame: unknown = JSON.parse(data)
    if (typeof frame !== 'object' || frame === null || !('type' in frame)) return null
    return typeof frame.type === 'string' ? (frame as OtherEvent) : null
  } catch {
    return null
  }
}

export function isReady(event: ServerEvent): event is ReadyEvent {
  if (event.type !== 'ready') return false
  const { user, presences } = event as Partial<ReadyEvent>
  return typeof user?.id === 'string' && typeof presences === 'object' && presences !== null
}

export function isPresenceUpdate(event: ServerEvent): event is PresenceUpdate {
  if (event.type !== 'presence_update') return false
  const { userId, status } = event as Partial<PresenceUpdate>
  return typeof userId === 'string' && (status === 'online' || status === 'offline')
}
