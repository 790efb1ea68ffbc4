import { initialPresence, type PresenceState } from '../presence/presence-state.ts'
import type { SessionSocket } from '../socket/session-socket.ts'
import type { TokenBucket } from '../socket/token-bucket.ts'
import type { ToldEnding } from './end-sessions.ts'

/** The user may have no socket, with the end of the presence yet to be recorded. */
export type LocalUser = {
  readonly id: string
  readonly sockets: Set<AuthenticatedSocket>
  /** As of `stateVersion`. */
  username: string
  presence: PresenceState
  isAdmin: boolean
  stateVersion: number
  bucket: TokenBucket | undefined
  /** The newest one. Handshakes under way are judged by it too. */
  ending: ToldEnding | undefined
}

export type AuthenticatedSocket = SessionSocket & { user: LocalUser }

export function isAuthenticated(socket: SessionSocket): socket is AuthenticatedSocket {
  return socket.user !== undefined
}

export class SessionRegistry {
  readonly #users = new Map<string, LocalUser>()
  readonly #sessions = new Map<string, AuthenticatedSocket>()
  readonly adminWatchers = new Set<AuthenticatedSocket>()

  add(socket: SessionSocket, userId: string): AuthenticatedSocket {
    const user = this.#users.get(userId) ?? createLocalUser(userId)
    this.#users.set(userId, user)
    const authenticated = Object.assign(socket, { user })
    user.sockets.add(authenticated)
    return authenticated
  }

  nameSession(socket: AuthenticatedSocket, sessionId: string): void {
    socket.sessionId = sessionId
    this.#sessions.set(sessionId, socket)
  }

  findSession(sessionId: string): AuthenticatedSocket | undefined {
    return this.#sessions.get(sessionId)
  }

  remove(socket: SessionSocket): LocalUser | undefined {
    if (!isAuthenticated(socket)) return undefined
    const { user } = socket
    user.sockets.delete(socket)
    this.adminWatchers.delete(socket)
    this.#sessions.delete(socket.sessionId)
    const released: SessionSocket = socket
    released.user = undefined
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

  countReady(): number {
    let count = 0
    for (const user of this.#users.values()) for (const socket of user.sockets) if (socket.phase === 'ready') count += 1
    return count
  }
}

function createLocalUser(id: string): LocalUser {
  const sockets = new Set<AuthenticatedSocket>()
  const account = { username: '', isAdmin: false, stateVersion: -1 }
  return { id, sockets, ...account, presence: initialPresence, bucket: undefined, ending: undefined }
}
