import type { SessionSocket } from './socket/session-socket.ts'
import type { Arrival } from './presence/presence-keeper.ts'
import type { TokenBucket } from './socket/token-bucket.ts'

/** Somebody who has sockets here, or had some a moment ago. */
export type LocalUser = {
  readonly id: string
  readonly sockets: Set<SessionSocket>
  /** Whether the database knows that they are here. */
  present: boolean
  /** No grace, or none left: they were thrown out, or have been gone for long enough. Being let in again ends it. */
  isDue: boolean
  bucket: TokenBucket | undefined
  /** What sockets wait for that have come since the database was last told. */
  arriving: PromiseWithResolvers<Arrival | undefined> | undefined
}

/** Which user has which sockets on this node. */
export type Connections = {
  join(userId: string, socket: SessionSocket): LocalUser
  /** Gives the user whose last socket this was. */
  leave(socket: SessionSocket): LocalUser | undefined
  find(userId: string): LocalUser | undefined
  /** Drops who has no sockets here. */
  forget(user: LocalUser): void
  users(): Iterable<LocalUser>
  /** Sockets that have got their `ready`. */
  readyCount(): number
}

export function createConnections(): Connections {
  const users = new Map<string, LocalUser>()
  return {
    join(userId, socket) {
      const user = users.get(userId) ?? newUser(userId)
      users.set(userId, user)
      user.sockets.add(socket)
      socket.user = user
      return user
    },
    leave(socket) {
      const { user } = socket
      socket.user = undefined
      if (!user?.sockets.delete(socket) || user.sockets.size > 0) return undefined
      return user
    },
    find: (userId) => users.get(userId),
    forget(user) {
      if (user.sockets.size === 0 && users.get(user.id) === user) users.delete(user.id)
    },
    users: () => users.values(),
    readyCount() {
      let count = 0
      for (const user of users.values()) for (const socket of user.sockets) if (socket.phase === 'ready') count += 1
      return count
    },
  }
}

/** Whether somebody who was let in is here: a socket that has yet to prove itself does not count. */
export function isHere(user: LocalUser): boolean {
  for (const socket of user.sockets) if (socket.phase === 'ready') return true
  return false
}

function newUser(id: string): LocalUser {
  return { id, sockets: new Set(), present: false, isDue: false, bucket: undefined, arriving: undefined }
}
