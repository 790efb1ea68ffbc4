import { closures, type Closure } from '@gatehouse/contracts'
import type { Quota } from '@gatehouse/runtime'
import type { OperationContext } from '../context.ts'
import type { TimeoutSet } from '../timeout-set.ts'
import { sendText } from './send-text.ts'
import { type SessionSocket, encodeMessage } from './session-socket.ts'

export type ReleaseDeps = {
  timeouts: Readonly<Record<string, Pick<TimeoutSet<SessionSocket>, 'delete'>>>
  /** For the layers above. */
  onReleased(socket: SessionSocket): void
}

export type RefusalDeps = ReleaseDeps & Pick<OperationContext, 'sessionMetrics'>

export type HandshakeRefusal = Exclude<
  keyof typeof closures,
  'passwordReset' | 'accountDeleted' | 'accountSuspended' | 'goingAway' | 'tooManyConnections'
>

/** Spec: WebSocket handshake 5; Contract: 6, failure before `ready`. */
export function refuseHandshake(deps: RefusalDeps, socket: SessionSocket, refusal: HandshakeRefusal): void {
  const closure = closures[refusal]
  deps.sessionMetrics.handshakes.inc({ outcome: refusal })
  sendText(deps, socket, encodeMessage({ type: 'error', message: closure.message, code: closure.error }))
  closeSocket(deps, socket, closure)
}

export function closeSocket(
  deps: ReleaseDeps,
  socket: SessionSocket,
  { code, message }: Pick<Closure, 'code' | 'message'>,
): void {
  releaseSocket(deps, socket)
  // A paused socket would not read the peer's close frame.
  socket.resume()
  socket.close(code, message)
}

export function releaseSocket({ timeouts, onReleased }: ReleaseDeps, socket: SessionSocket): void {
  socket.phase = 'closing'
  socket.frames = 0
  socket.backlog = undefined
  for (const each of Object.values(timeouts)) each.delete(socket)
  onReleased(socket)
}

export function releaseQuota({ quota }: { quota: Pick<Quota, 'release'> }, socket: SessionSocket): void {
  if (socket.quotaKey === '') return
  quota.release(socket.quotaKey)
  socket.quotaKey = ''
}
