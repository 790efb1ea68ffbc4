import { closeCodes } from '@gatehouse/contracts/constants'
import type { AdminChangedMessage, PresenceMessage, ReadyMessage, SecurityNoticeMessage, User } from '../api/records.ts'
import type { SessionEnd } from '../session/session.ts'

export type ReadyEvent = Pick<ReadyMessage, 'type' | 'user' | 'sessionId' | 'serverTime' | 'instance' | 'presences'>
export type PresenceUpdate = PresenceMessage
/** Newer servers may send other values. */
export type AdminChange = AdminChangedMessage
export type SecurityNotice = SecurityNoticeMessage
export type OtherEvent = { type: string; [field: string]: unknown }
export type ServerEvent = ReadyEvent | PresenceUpdate | SecurityNotice | OtherEvent

/** What an application's upstreams send, and what they take: `{ events: { 'chat.said': { text: string } }, requests: { 'chat.say': { body: …, reply: … } } }`. */
export type LiveTypes = { events: Record<string, object>; requests: Record<string, { body: object; reply: object }> }
type Fields = Record<string, unknown>
export type AnyLive = { events: Record<string, Fields>; requests: Record<string, { body: Fields; reply: Fields }> }

/** Of Gatehouse itself. */
export type OwnEvents = {
  ready: ReadyEvent
  presence_update: PresenceUpdate
  user_updated: { type: 'user_updated'; user: User }
  security_notice: SecurityNotice
}

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
  const { type, user, presences } = event as { type: string; user?: Partial<User> | null; presences?: object | null }
  return type === 'ready' && typeof user?.id === 'string' && typeof presences === 'object' && presences !== null
}

export function isPresenceUpdate(event: ServerEvent): event is PresenceUpdate {
  const { type, userId, status } = event as Partial<PresenceUpdate>
  return type === 'presence_update' && typeof userId === 'string' && (status === 'online' || status === 'offline')
}

export function isSecurityNotice(event: ServerEvent): event is SecurityNotice {
  return event.type === 'security_notice' && typeof (event as Partial<SecurityNotice>).what === 'string'
}

export const tokenRefused: SessionEnd = {
  reason: 'token_refused',
  message: 'Your session has ended. Please log in again.',
}
export const accountDeleted: SessionEnd = { reason: 'account_deleted', message: 'Your account has been deleted.' }

/** After all others the client reconnects. Contract: 6, failure before ready, forced disconnect. */
const sessionEnds: Readonly<Record<number, SessionEnd>> = {
  [closeCodes.invalidToken]: tokenRefused,
  [closeCodes.tokenRevoked]: tokenRefused,
  [closeCodes.accountDeletedAtHandshake]: accountDeleted,
  [closeCodes.passwordReset]: {
    reason: 'password_reset',
    message: 'Your password was reset. Log in with the new one.',
  },
  [closeCodes.accountDeleted]: accountDeleted,
  [closeCodes.accountSuspended]: {
    reason: 'account_suspended',
    message: 'Your account has been suspended by an admin.',
  },
}

export function findSessionEnd(closeCode: number): SessionEnd | null {
  return sessionEnds[closeCode] ?? null
}
