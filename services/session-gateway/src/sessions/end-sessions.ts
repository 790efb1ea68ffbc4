import type { Subscription } from '@gatehouse/bus'
import { closures, deletedPresence, sessionEndingEvents, type Closure } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { closeSocket } from '../socket/close-socket.ts'
import type { AuthenticatedSocket, LocalUser } from './session-registry.ts'

type SessionEndingDeps = Pick<Deps, 'sessions' | 'presence' | 'timeouts' | 'sessionMetrics'>

type SessionEnding = { closure: Pick<Closure, 'code' | 'message'>; reason: string }

/** `version` is that of the account's state after the end. */
export type ToldEnding = SessionEnding & { second: number; version: number }

export const sessionEndings = {
  PasswordReset: { closure: closures.passwordReset, reason: 'password_reset' },
  SessionsEnded: { closure: closures.tokenRevoked, reason: 'sessions_ended' },
  UserDeleted: { closure: closures.accountDeleted, reason: 'account_deleted' },
} as const satisfies Record<(typeof sessionEndingEvents)[number]['name'], SessionEnding>

/** Spec: Admin reset 3, DELETE self 4; Contract: 6, forced disconnect. */
export async function subscribeSessionEndings(
  deps: SessionEndingDeps & Pick<Deps, 'bus' | 'presenceDelivery' | 'remotePresences'>,
): Promise<Subscription> {
  const events = [...sessionEndingEvents, deletedPresence] as const
  return await deps.bus.subscribe(events, async ({ name, payload }) => {
    if (name === 'DeletedPresence') return announceDeletion(deps, payload)
    const user = deps.sessions.find(payload.userId)
    const second = name === 'UserDeleted' ? Infinity : Math.floor(payload.at / 1000)
    if (user) endSessions(deps, user, { ...sessionEndings[name], second, version: payload.state.version })
    if (name === 'UserDeleted') announceDeletion(deps, payload)
  })
}

/** Tokens of a later second stay. For the same second, the version that admitted the socket decides. */
export function endSessions(deps: SessionEndingDeps, user: LocalUser, ending: ToldEnding): void {
  if (!user.ending || user.ending.version <= ending.version) user.ending = ending
  closeSessions(deps, user, { ...ending, isEnded: (socket) => isEndedBy(ending, socket) })
}

function isEndedBy({ second, version }: ToldEnding, { iat, stateVersion }: AuthenticatedSocket): boolean {
  if (iat !== second) return iat < second
  return stateVersion !== undefined && stateVersion < version
}

/** The event carries the audience, which the database no longer has. */
function announceDeletion(
  { presenceDelivery, remotePresences }: Pick<Deps, 'presenceDelivery' | 'remotePresences'>,
  { userId, audience }: { userId: string; audience: readonly string[] },
): void {
  remotePresences.forget(userId)
  presenceDelivery.sendDeletion(userId, audience)
}

/** `issuedBefore` in seconds. */
export function closeSessionsIssuedBefore(
  deps: SessionEndingDeps,
  user: LocalUser,
  { issuedBefore, ...ending }: SessionEnding & { issuedBefore: number },
): void {
  closeSessions(deps, user, { ...ending, isEnded: ({ iat }) => iat < issuedBefore })
}

/** A user without another socket goes offline at once. */
function closeSessions(
  deps: SessionEndingDeps,
  user: LocalUser,
  { closure, reason, isEnded }: SessionEnding & { isEnded: (socket: AuthenticatedSocket) => boolean },
): void {
  const ended = [...user.sockets].filter(isEnded)
  if (ended.length === user.sockets.size) deps.presence.forceOffline(user)
  for (const socket of ended) closeSocket(deps, socket, closure)
  deps.sessionMetrics.forcedDisconnects.inc({ reason }, ended.length)
}
