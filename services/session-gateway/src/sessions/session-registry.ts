import type { AccountState, Closure } from '@gatehouse/contracts'
import type { SessionSocket } from '../connection/session-socket.ts'
import type { TokenBucket } from './token-bucket.ts'

export type SessionEnding = { closure: Pick<Closure, 'code' | 'message'>; reason: string }

/** `version` is that of the account's state after the end. */
export type ToldEnding = SessionEnding & { second: number; version: number }

/** The user may have no socket, with the end of the presence yet to be recorded. */
export type LocalUser = {
  readonly id: string
  readonly sockets: Set<AuthenticatedSocket>
  /** As of `stateVersion`. */
  username: string
  isAdmin: boolean
  stateVersion: number
  bucket: TokenBucket | undefined
  /** The newest one. Handshakes under way are judged by it too. */
  ending: ToldEnding | undefined
}

/** `iat` and `exp` in seconds since the epoch. */
export type Claims = { readonly iat: number; readonly exp: number }

export type Session = Claims & {
  readonly user: LocalUser
  /** Empty before `ready`. */
  id: string
  /** The state that admitted it. The user's own may be newer. */
  stateVersion: number | undefined
}

export type AuthenticatedSocket = SessionSocket & { session: Session }

export function isAuthenticated(socket: SessionSocket): socket is AuthenticatedSocket {
  return socket.session !== undefined
}

export class SessionRegistry {
  readonly #users = new Map<string, LocalUser>()
  readonly #sessions = new Map<string, AuthenticatedSocket>()

  add(socket: SessionSocket, userId: string, { iat, exp }: Claims): AuthenticatedSocket {
    const user = this.#users.get(userId) ?? createLocalUser(userId)
    this.#users.set(userId, user)
    const session: Session = { user, id: '', iat, exp, stateVersion: undefined }
    const authenticated = Object.assign(socket, { session, siblings: user.sockets })
    user.sockets.add(authenticated)
    return authenticated
  }

  nameSession(socket: AuthenticatedSocket, sessionId: string): void {
    socket.session.id = sessionId
    this.#sessions.set(sessionId, socket)
  }

  findSession(sessionId: string): AuthenticatedSocket | undefined {
    return this.#sessions.get(sessionId)
  }

  remove(socket: SessionSocket): LocalUser | undefined {
    if (!isAuthenticated(socket)) return undefined
    const { user, id } = socket.session
    user.sockets.delete(socket)
    this.#sessions.delete(id)
    Object.assign(socket, { session: undefined, siblings: undefined })
    return user
  }

  find(userId: string): LocalUser | undefined {
    return this.#users.get(userId)
  }

  forget(user: LocalUser): void {
    if (this.#users.get(user.id) === user) this.#users.delete(user.id)
  }

  users(): Iterable<LocalUser> {
    return this.#users.values()
  }

  /** Ignores older states. */
  updateAccountState(state: AccountState): void {
    const user = this.find(state.userId)
    if (!user || state.version < user.stateVersion) return
    user.stateVersion = state.version
    user.username = state.username
    user.isAdmin = state.isAdmin && !state.isDeleted
  }

  countReady(): number {
    let count = 0
    for (const user of this.#users.values()) for (const socket of user.sockets) if (socket.phase === 'ready') count += 1
    return count
  }
}

function createLocalUser(id: string): LocalUser {
  const account = { username: '', isAdmin: false, stateVersion: -1 }
  return { id, sockets: new Set(), ...account, bucket: undefined, ending: undefined }
}
