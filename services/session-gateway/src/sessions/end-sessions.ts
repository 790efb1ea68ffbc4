import { isEndedBy, isIssuedBefore, readAccountStates, secondOf } from '@gatehouse/authority'
import type { Subscription } from '@gatehouse/bus'
import { closures, deletedPresence, limits, sessionEndingEvents } from '@gatehouse/contracts'
import { bigintArray, read } from '@gatehouse/database'
import { closeSocket, type RefusalDeps } from '../connection/close-sockets.ts'
import { demandToken, type SocketTimeouts } from '../connection/socket-timeouts.ts'
import type { OperationContext } from '../context.ts'
import { policy } from '../policy.ts'
import { idsOf } from './session-registry.ts'
import type { AuthenticatedSocket, LocalUser, SessionEnding, SessionRegistry } from './session-registry.ts'

export type EndingDeps = RefusalDeps & {
  timeouts: Pick<SocketTimeouts, 'reauthentications'>
  presence: { forceOffline(user: LocalUser): void }
}
type AllDeps = EndingDeps & { sessions: SessionRegistry }

export const sessionEndings = {
  PasswordChanged: { closure: closures.tokenRevoked, reason: 'password_changed' },
  PasswordReset: { closure: closures.passwordReset, reason: 'password_reset' },
  SessionsEnded: { closure: closures.tokenRevoked, reason: 'sessions_ended' },
  UserSuspended: { closure: closures.accountSuspended, reason: 'account_suspended' },
  UserDeleted: { closure: closures.accountDeleted, reason: 'account_deleted' },
} as const satisfies Record<(typeof sessionEndingEvents)[number]['name'], Pick<SessionEnding, 'closure' | 'reason'>>

/** `onDeleted` gets each part of a deleted account's audience. Spec: Admin reset 3, DELETE self 4; Contract: 6, forced disconnect. */
export async function subscribeSessionEndings(
  deps: AllDeps & Pick<OperationContext, 'bus'>,
  onDeleted: (userId: string, audience: readonly string[]) => void,
): Promise<Subscription> {
  const events = [...sessionEndingEvents, deletedPresence] as const
  return await deps.bus.subscribe(events, async ({ name, payload }) => {
    if (name === 'DeletedPresence') return onDeleted(payload.userId, payload.audience)
    const user = deps.sessions.find(payload.userId)
    const second = name === 'UserDeleted' ? Infinity : secondOf(payload.at)
    const exceptIat = name === 'PasswordChanged' ? payload.tokenIssuedAt : undefined
    if (user) endSessions(deps, user, { ...sessionEndings[name], second, exceptIat })
    if (name === 'UserDeleted') onDeleted(payload.userId, payload.audience)
  })
}

/** Events may come late and out of order: the latest end counts. Tokens of its second and later ones stay. Contract: 6, revoked tokens, auth once more. */
export function endSessions(deps: EndingDeps, user: LocalUser, ending: SessionEnding): void {
  if (!user.ending || user.ending.second <= ending.second) user.ending = ending
  const older = [...user.sockets].filter(({ session }) => isEndedBy(ending, session))
  const isExcepted = ({ phase, session: { iat } }: AuthenticatedSocket) => phase === 'ready' && iat === ending.exceptIat
  for (const socket of older.filter(isExcepted)) demandToken(deps, socket)
  const ended = older.filter((socket) => !isExcepted(socket))
  if (ended.length === user.sockets.size) deps.presence.forceOffline(user)
  for (const socket of ended) closeSocket(deps, socket, ending.closure)
  deps.sessionMetrics.forcedDisconnects.inc({ reason: ending.reason }, ended.length)
}

/** Closes the sockets whose newest token has expired. Spec: Bearer tokens; Contract: 6, revoked tokens. */
export function closeExpiredSessions(deps: AllDeps & Pick<OperationContext, 'clock'>): void {
  const now = Math.floor(deps.clock.now() / 1000)
  for (const user of deps.sessions.users()) {
    for (const socket of user.sockets) {
      if (socket.session.exp > now || socket.phase !== 'ready') continue
      closeSocket(deps, socket, closures.tokenRevoked)
      deps.sessionMetrics.forcedDisconnects.inc({ reason: 'token_expired' })
    }
  }
}

/** Only `ready` sockets count: a revoked token must not close those of a live one. Contract: 6, sockets of an account. */
export function closeOldestSockets(deps: RefusalDeps, user: LocalUser): void {
  if (user.sockets.size <= limits.socketsPerAccount) return
  const ready = [...user.sockets].filter(({ phase }) => phase === 'ready')
  const excess = ready.slice(0, Math.max(0, ready.length - limits.socketsPerAccount))
  for (const socket of excess) closeSocket(deps, socket, closures.tooManyConnections)
  deps.sessionMetrics.forcedDisconnects.inc({ reason: 'too_many_connections' }, excess.length)
}

/** Ends what a lost event should have ended. Contract: 6, revoked tokens. */
export async function sweepSessions(deps: AllDeps & Pick<OperationContext, 'orm'>): Promise<void> {
  const users = [...deps.sessions.users()].filter((user) => user.sockets.size > 0)
  for (let first = 0; first < users.length; first += policy.sweepBatch) {
    await sweepBatch(deps, users.slice(first, first + policy.sweepBatch))
  }
}

async function sweepBatch(deps: EndingDeps & Pick<OperationContext, 'orm'>, users: readonly LocalUser[]) {
  const em = deps.orm.em.fork()
  const states = new Map((await readAccountStates(em, idsOf(users))).map((state) => [state.userId, state]))
  const endedIn = new Map<LocalUser, number>()
  const end = (user: LocalUser, name: keyof typeof sessionEndings, second: number) =>
    endSessions(deps, user, { ...sessionEndings[name], second })
  for (const user of users) {
    const state = states.get(user.id)
    if (!state || state.isDeleted) {
      end(user, 'UserDeleted', Infinity)
      continue
    }
    const ended = secondOf(state.sessionsEndedAt)
    const changed = secondOf(state.passwordChangedAt)
    for (const socket of user.sockets) {
      const { iat } = socket.session
      if (isIssuedBefore(iat, ended)) endedIn.set(user, ended)
      // The event, which may still come, says which session changed the password.
      else if (isIssuedBefore(iat, changed) && socket.phase === 'ready') demandToken(deps, socket)
    }
  }
  if (endedIn.size === 0) return
  const sql = `select id::text as id, case when coalesce(suspended_at, home_suspended_at) is not null then 'UserSuspended'
    when sessions_ended_by_reset then 'PasswordReset' else 'SessionsEnded' end as name from users where id = any(?::bigint[])`
  type Row = { id: string; name: keyof typeof sessionEndings }
  const rows = await read<Row>(em, sql, [bigintArray(idsOf([...endedIn.keys()]))])
  const nameOf = new Map(rows.map(({ id, name }) => [id, name]))
  for (const [user, second] of endedIn) end(user, nameOf.get(user.id) ?? 'SessionsEnded', second)
}
