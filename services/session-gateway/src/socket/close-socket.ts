import type { Closure } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { dropMessages } from '../upstreams/message-queue.ts'
import { encodeMessage, sendText } from './send-text.ts'
import type { SessionSocket } from './session-socket.ts'

/** Closes a socket before `ready`, after an error message. Contract: 6, failure before `ready`. */
export function closeWithError(
  deps: Pick<Deps, 'sessions' | 'presence' | 'timeouts' | 'sessionMetrics'>,
  socket: SessionSocket,
  closure: Closure,
): void {
  sendText(deps, socket, encodeMessage({ type: 'error', message: closure.message }))
  closeSocket(deps, socket, closure)
}

/** Closes a socket. From here on its frames are ignored, and its user no longer has it. */
export function closeSocket(
  deps: Pick<Deps, 'sessions' | 'presence' | 'timeouts'>,
  socket: SessionSocket,
  { code, message }: Pick<Closure, 'code' | 'message'>,
): void {
  releaseSocket(deps, socket)
  // A paused socket would not read the peer's part of the closing handshake.
  socket.resume()
  socket.close(code, message)
}

/** Takes a socket off every list. */
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

/** Frees the socket's place among the unauthenticated: on `ready`, or when the connection is closed. */
export function releaseQuota({ quota }: Pick<Deps, 'quota'>, socket: SessionSocket): void {
  if (socket.quotaKey === '') return
  quota.release(socket.quotaKey)
  socket.quotaKey = ''
}
