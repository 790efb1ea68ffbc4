import type { Subscription } from '@gatehouse/bus'
import { closures, deletedPresence, sessionEndingEvents, type Closure } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { closeSocket } from '../socket/close-socket.ts'
import type { LocalUser } from './session-registry.ts'

type SessionEndingDeps = Pick<Deps, 'sessions' | 'presence' | 'timeouts' | 'sessionMetrics'>

/** Why sessions end: the close code, and the label of the metric. */
type SessionEnding = { closure: Pick<Closure, 'code' | 'message'>; reason: string }

export const sessionEndings = {
  PasswordReset: { closure: closures.passwordReset, reason: 'password_reset' },
  SessionsEnded: { closure: closures.tokenRevoked, reason: 'sessions_ended' },
  UserDeleted: { closure: closures.accountDeleted, reason: 'account_deleted' },
} as const satisfies Record<(typeof sessionEndingEvents)[number]['name'], SessionEnding>

/**
 * Closes sessions on this node as the events say. Spec: Admin reset 3, DELETE self 4; Contract: 6, forced disconnect.
 */
export async function subscribeSessionEndings(
  deps: SessionEndingDeps & Pick<Deps, 'bus' | 'presenceDelivery' | 'remotePresences'>,
): Promise<Subscription> {
  const events = [...sessionEndingEvents, deletedPresence] as const
  return await deps.bus.subscribe(events, async ({ name, payload }) => {
    if (name === 'DeletedPresence') return announceDeletion(deps, payload)
    const user = deps.sessions.find(payload.userId)
    const issuedBefore = name === 'UserDeleted' ? Infinity : secondAfter(payload.at)
    if (user) closeSessionsIssuedBefore(deps, user, { ...sessionEndings[name], issuedBefore })
    if (name === 'UserDeleted') announceDeletion(deps, payload)
  })
}

/** The event may come late: tokens of a later second stay. One of the same second is closed, and may connect again. */
function secondAfter(at: number): number {
  return Math.floor(at / 1000) + 1
}

/** The memberships went with the account, so its audience can no longer be looked up: the event carries it. */
function announceDeletion(
  { presenceDelivery, remotePresences }: Pick<Deps, 'presenceDelivery' | 'remotePresences'>,
  { userId, audience }: { userId: string; audience: readonly string[] },
): void {
  remotePresences.forget(userId)
  presenceDelivery.sendDeletion(userId, audience)
}

/**
 * Closes the sockets of a user whose tokens were issued before the second `issuedBefore`. A user without any other goes
 * offline at once.
 */
export function closeSessionsIssuedBefore(
  deps: SessionEndingDeps,
  user: LocalUser,
  { closure, reason, issuedBefore }: SessionEnding & { issuedBefore: number },
): void {
  const expired = [...user.sockets].filter((socket) => socket.iat < issuedBefore)
  if (expired.length === user.sockets.size) deps.presence.forceOffline(user)
  for (const socket of expired) closeSocket(deps, socket, closure)
  deps.sessionMetrics.forcedDisconnects.inc({ reason }, expired.length)
}
