import { unwatchMessage, watchMessage, type AccountState, type AdminChangedMessage } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import type { AuthenticatedSocket } from '../sessions/session-registry.ts'
import { encodeMessage, sendText } from '../socket/send-text.ts'

const adminRequired = encodeMessage({ type: 'error', message: 'Admin access required', code: 'admin_required' })
const unknownTopic = encodeMessage({ type: 'error', message: 'Unknown topic', code: 'unknown_topic' })

/** Contract: 6, watch. */
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

/** Ignores older states. Sockets of users without the role stop watching. */
export function updateAccountState({ sessions }: Pick<Deps, 'sessions'>, state: AccountState): void {
  const user = sessions.find(state.userId)
  if (!user || state.version < user.stateVersion) return
  user.stateVersion = state.version
  user.username = state.username
  user.isAdmin = state.isAdmin && !state.isDeleted
  if (!user.isAdmin) for (const socket of user.sockets) sessions.adminWatchers.delete(socket)
}

export function notifyAdminWatchers(
  deps: Pick<Deps, 'sessions' | 'sessionMetrics'>,
  change: Omit<AdminChangedMessage, 'type'>,
): void {
  if (deps.sessions.adminWatchers.size === 0) return
  const message = encodeMessage({ type: 'admin_changed', ...change } satisfies AdminChangedMessage)
  for (const socket of deps.sessions.adminWatchers) sendText(deps, socket, message)
}
