import { unwatchMessage, watchMessage, type AccountState, type AdminChangedMessage } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import type { AuthenticatedSocket } from '../sessions/session-registry.ts'
import { encodeMessage, sendText } from '../socket/send-text.ts'

const adminRequired = encodeMessage({ type: 'error', message: 'Admin access required' })
const unknownTopic = encodeMessage({ type: 'error', message: 'Unknown topic' })

/** Starts or ends the subscription of a socket to a topic. Contract: 6, watch. */
export function handleWatch(
  deps: Pick<Deps, 'sessions' | 'sessionMetrics'>,
  socket: AuthenticatedSocket,
  message: unknown,
): void {
  if (unwatchMessage.safeParse(message).success) return void deps.sessions.adminWatchers.delete(socket)
  if (!watchMessage.safeParse(message).success) return sendText(deps, socket, unknownTopic)
  if (!socket.user.isAdmin) return sendText(deps, socket, adminRequired)
  deps.sessions.adminWatchers.add(socket)
}

/** Takes over an account's name and role unless a newer one is known. The sockets of a user without it watch no longer. */
export function updateAccountState({ sessions }: Pick<Deps, 'sessions'>, state: AccountState): void {
  const user = sessions.find(state.userId)
  if (!user || state.version < user.stateVersion) return
  user.stateVersion = state.version
  user.username = state.username
  user.isAdmin = state.isAdmin && !state.isDeleted
  if (!user.isAdmin) for (const socket of user.sockets) sessions.adminWatchers.delete(socket)
}

/** Tells every socket that watches. */
export function notifyAdminWatchers(
  deps: Pick<Deps, 'sessions' | 'sessionMetrics'>,
  change: Omit<AdminChangedMessage, 'type'>,
): void {
  if (deps.sessions.adminWatchers.size === 0) return
  const message = encodeMessage({ type: 'admin_changed', ...change } satisfies AdminChangedMessage)
  for (const socket of deps.sessions.adminWatchers) sendText(deps, socket, message)
}
