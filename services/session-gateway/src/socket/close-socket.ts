import type { Closure } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { dropMessages } from '../upstreams/message-queue.ts'
import { encodeMessage, sendText } from './send-text.ts'
import type { SessionSocket } from './session-socket.ts'

/** Contract: 6, failure before `ready`. */
export function closeWithError(
  deps: Pick<Deps, 'sessions' | 'presence' | 'timeouts' | 'sessionMetrics'>,
  socket: SessionSocket,
  closure: Closure,
): void {
  sendText(deps, socket, encodeMessage({ type: 'error', message: closure.message, code: closure.error }))
  closeSocket(deps, socket, closure)
}

/** Frames that come later are ignored. */
export function closeSocket(
  deps: Pick<Deps, 'sessions' | 'presence' | 'timeouts'>,
  socket: SessionSocket,
  { code, message }: Pick<Closure, 'code' | 'message'>,
): void {
  releaseSocket(deps, socket)
  // A paused socket would not read the peer's close frame.
  socket.resume()
  socket.close(code, message)
}

export function releaseSocket(deps: Pick<Deps, 'sessions' | 'presence' | 'timeouts'>, socket: SessionSocket): void {
  socket.phase = 'closing'
  socket.frames = 0
  socket.backlog = undefined
  dropMessages(socket)
  deps.timeouts.unauthenticated.delete(socket)
  deps.timeouts.handshakes.delete(socket)
  deps.timeouts.pings.delete(socket)
  deps.timeouts.paused.delete(socket)
  const user = deps.sessions.remove(socket)
  if (user) deps.presence.userDisconnected(user)
}

export function releaseQuota({ quota }: Pick<Deps, 'quota'>, socket: SessionSocket): void {
  if (socket.quotaKey === '') return
  quota.release(socket.quotaKey)
  socket.quotaKey = ''
}
