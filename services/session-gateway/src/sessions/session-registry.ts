import { isEndedBy, judgeToken } from '@gatehouse/authority'
import { limits } from '@gatehouse/contracts'
import type { AccountState, Closure, SocketErrorCode } from '@gatehouse/contracts'
import type { UpstreamCaller } from '@gatehouse/upstreams'
import type { SessionSocket } from '../connection/session-socket.ts'
import type { OperationContext } from '../context.ts'

/** Sessions whose token is of an earlier second end. Sockets of the session of `exceptIat` may authenticate once more. */
export type SessionEnding = { closure: Closure; reason: string; second: number; exceptIat?: number | undefined }

/** The user may have no socket, with the end of the presence yet to be recorded. */
export type LocalUser = {
  readonly id: string
  readonly sockets: Set<AuthenticatedSocket>
  bucket: TokenBucket | undefined
  /** The newest one. Handshakes under way are judged by it too. */
  ending: SessionEnding | undefined
}

export const idsOf = (users: readonly LocalUser[]) => users.map(({ id }) => id)

/** `iat` and `exp` in seconds since the epoch. */
export type Claims = { readonly iat: number; readonly exp: number }

/** Its claims are those of the newest token. */
type Session = { -readonly [Name in keyof Claims]: Claims[Name] } & {
  readonly user: LocalUser
  /** Empty before `ready`. */
  id: string
}

export type AuthenticatedSocket = SessionSocket & { session: Session }

export function isAuthenticated(socket: SessionSocket): socket is AuthenticatedSocket {
  return socket.session !== undefined
}

export type SessionRegistry = ReturnType<typeof createSessionRegistry>

export function createSessionRegistry() {
  const users = new Map<string, LocalUser>()
  const sessions = new Map<string, AuthenticatedSocket>()
  return {
    add(socket: SessionSocket, userId: string, { iat, exp }: Claims): AuthenticatedSocket {
      const blank: LocalUser = { id: userId, sockets: new Set(), bucket: undefined, ending: undefined }
      const user = users.get(userId) ?? blank
      users.set(userId, user)
      const session: Session = { user, id: '', iat, exp }
      const authenticated = Object.assign(socket, { session, siblings: user.sockets })
      user.sockets.add(authenticated)
      return authenticated
    },
    nameSession(socket: AuthenticatedSocket, sessionId: string): void {
      socket.session.id = sessionId
      sessions.set(sessionId, socket)
    },
    findSession: (sessionId: string) => sessions.get(sessionId),
    remove(socket: SessionSocket): LocalUser | undefined {
      if (!isAuthenticated(socket)) return undefined
      const { user, id } = socket.session
      user.sockets.delete(socket)
      sessions.delete(id)
      Object.assign(socket, { session: undefined, siblings: undefined })
      return user
    },
    find: (userId: string) => users.get(userId),
    forget(user: LocalUser): void {
      if (users.get(user.id) === user) users.delete(user.id)
    },
    isEmpty: () => users.size === 0,
    users: (): Iterable<LocalUser> => users.values(),
    countReady(): number {
      const countOf = ({ sockets }: LocalUser) => [...sockets].filter(({ phase }) => phase === 'ready').length
      return [...users.values()].reduce((count, user) => count + countOf(user), 0)
    },
  }
}

export type CallerDeps = Pick<OperationContext, 'accountStates' | 'clock' | 'random'>

/** Undefined: the session has ended. Design: invariant 1; docs/decisions/sockets.md. */
export async function findCurrentState(
  { accountStates, clock }: Omit<CallerDeps, 'random'>,
  { session }: AuthenticatedSocket,
): Promise<AccountState | undefined> {
  const { user } = session
  const state = await accountStates.find(user.id)
  if (!state || judgeToken(session, state) !== 'live' || session.exp <= clock.now() / 1000) return undefined
  // The event of a change may come before the answer to a read that preceded the change.
  return user.ending && isEndedBy(user.ending, session) ? undefined : state
}

/** As `findCurrentState`. Each call makes a request id. */
export async function findCurrentCaller(deps: CallerDeps, socket: AuthenticatedSocket) {
  // The socket may close meanwhile.
  const { id: sessionId } = socket.session
  const state = await findCurrentState(deps, socket)
  if (!state) return undefined
  const { userId, username, isAdmin } = state
  const ofSocket = { sessionId, requestId: deps.random.uuid() }
  return { userId, username, isAdmin, ...ofSocket } satisfies UpstreamCaller
}

/** Whether a route of admins would take the token. Contract: 5, Second factors of others. */
export function refuseAdmin({ isAdmin, secondFactorDue = false }: AccountState): SocketErrorCode | undefined {
  if (!isAdmin) return 'admin_required'
  return secondFactorDue ? 'second_factor_setup_required' : undefined
}

/** `at` in milliseconds. */
type TokenBucket = { tokens: number; at: number }

export const createTokenBucket = (now: number): TokenBucket => ({ tokens: limits.socketBurst, at: now })

/** `now` in milliseconds. Contract: 6, messages. */
export function takeToken(bucket: TokenBucket, now: number): boolean {
  const gained = (Math.max(0, now - bucket.at) / 1000) * limits.socketRefillPerSecond
  bucket.tokens = Math.min(limits.socketBurst, bucket.tokens + gained)
  bucket.at = now
  if (bucket.tokens < 1) return false
  bucket.tokens -= 1
  return true
}
