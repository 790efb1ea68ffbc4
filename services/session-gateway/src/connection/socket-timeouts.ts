import type { OperationContext } from '../context.ts'
import { policy } from '../policy.ts'
import { TimeoutSet } from '../timeout-set.ts'
import { refuseHandshake, type HandshakeRefusal, type RefusalDeps } from './close-socket.ts'
import { resumeWithinLimit } from './frame-rate-limit.ts'
import type { SessionSocket } from './session-socket.ts'

export type SocketTimeouts = {
  unauthenticated: TimeoutSet<SessionSocket>
  /** From a verified token until `ready`. */
  handshakes: TimeoutSet<SessionSocket>
  pings: TimeoutSet<SessionSocket>
  paused: TimeoutSet<SessionSocket>
}

type TimeoutDeps = Pick<OperationContext, 'timer' | 'timings' | 'clock'> & Omit<RefusalDeps, 'timeouts'>

/** Spec: WebSocket handshake 1; Contract: 6. */
export function createSocketTimeouts({ timer, timings, ...rest }: TimeoutDeps): SocketTimeouts {
  const refuse = (refusal: HandshakeRefusal) => (socket: SessionSocket) => refuseHandshake(deps, socket, refusal)
  const timeouts: SocketTimeouts = {
    unauthenticated: new TimeoutSet(timings.authTimeoutMs, timer, refuse('authenticationTimeout')),
    // The client did not cause the delay.
    handshakes: new TimeoutSet(timings.handshakeLimitMs, timer, refuse('unavailable')),
    pings: new TimeoutSet(timings.pingMs, timer, (socket) => pingOrTerminate(timeouts, socket)),
    paused: new TimeoutSet(policy.framePauseMs, timer, (socket) => resumeWithinLimit(deps, socket)),
  }
  const deps = { ...rest, timeouts }
  return timeouts
}

export function stopSocketTimeouts(timeouts: SocketTimeouts): void {
  for (const each of Object.values(timeouts)) each.stop()
}

/** Contract: 6, heartbeat. */
function pingOrTerminate({ pings }: SocketTimeouts, socket: SessionSocket): void {
  if (socket.awaitsPong) return socket.terminate()
  socket.awaitsPong = true
  socket.ping()
  pings.add(socket)
}
