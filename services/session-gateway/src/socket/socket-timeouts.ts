import type { Deps, OperationContext } from '../deps.ts'
import { policy } from '../policy.ts'
import { TimeoutSet } from '../timeout-set.ts'
import { resumeWithinLimit } from './frame-rate-limit.ts'
import { refuseHandshake } from './handshake.ts'
import type { SessionSocket } from './session-socket.ts'

export type SocketTimeouts = {
  unauthenticated: TimeoutSet<SessionSocket>
  /** From a verified token until `ready`. */
  handshakes: TimeoutSet<SessionSocket>
  pings: TimeoutSet<SessionSocket>
  paused: TimeoutSet<SessionSocket>
}

export function createSocketTimeouts({ timer, timings }: Pick<OperationContext, 'timer' | 'timings'>): SocketTimeouts {
  return {
    unauthenticated: new TimeoutSet(timings.authTimeoutMs, timer),
    handshakes: new TimeoutSet(timings.handshakeLimitMs, timer),
    pings: new TimeoutSet(timings.pingMs, timer),
    paused: new TimeoutSet(policy.framePauseMs, timer),
  }
}

/** Spec: WebSocket handshake 1; Contract: 6. */
export function startSocketTimeouts(
  deps: Pick<Deps, 'clock' | 'sessions' | 'presence' | 'timeouts' | 'sessionMetrics'>,
): Disposable {
  const { unauthenticated, handshakes, pings, paused } = deps.timeouts
  unauthenticated.onTimeout((socket) => refuseHandshake(deps, socket, 'authenticationTimeout'))
  // The client did not cause the delay.
  handshakes.onTimeout((socket) => refuseHandshake(deps, socket, 'unavailable'))
  pings.onTimeout((socket) => pingOrTerminate(deps, socket))
  paused.onTimeout((socket) => resumeWithinLimit(deps, socket))
  return {
    [Symbol.dispose]() {
      for (const timeouts of [unauthenticated, handshakes, pings, paused]) timeouts.stop()
    },
  }
}

/** Contract: 6, heartbeat. */
function pingOrTerminate({ timeouts }: Pick<Deps, 'timeouts'>, socket: SessionSocket): void {
  if (socket.awaitsPong) return socket.terminate()
  socket.awaitsPong = true
  socket.ping()
  timeouts.pings.add(socket)
}
