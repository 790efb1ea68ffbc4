import type { Deps, OperationContext } from '../deps.ts'
import { policy } from '../policy.ts'
import { TimeoutSet } from '../timeout-set.ts'
import { resumeWithinLimit } from './frame-rate-limit.ts'
import { refuseHandshake } from './handshake.ts'
import type { SessionSocket } from './session-socket.ts'

export type SocketTimeouts = {
  /** Sockets without a verified token. */
  unauthenticated: TimeoutSet<SessionSocket>
  /** Sockets whose token was verified, until their `ready`. */
  handshakes: TimeoutSet<SessionSocket>
  /** Sockets until their next ping. */
  pings: TimeoutSet<SessionSocket>
  /** Sockets above the frame rate limit, until they are read again. */
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

/** Ends sockets that do not authenticate in time, and those whose client is silent. Spec: WebSocket handshake 1; Contract: 6. */
export function startSocketTimeouts(
  deps: Pick<Deps, 'clock' | 'sessions' | 'presence' | 'timeouts' | 'sessionMetrics'>,
): Disposable {
  const { unauthenticated, handshakes, pings, paused } = deps.timeouts
  unauthenticated.onTimeout((socket) => refuseHandshake(deps, socket, 'authenticationTimeout'))
  // An account that could not be read in time is no fault of the client.
  handshakes.onTimeout((socket) => refuseHandshake(deps, socket, 'unavailable'))
  pings.onTimeout((socket) => pingOrTerminate(deps, socket))
  paused.onTimeout((socket) => resumeWithinLimit(deps, socket))
  return {
    [Symbol.dispose]() {
      for (const timeouts of [unauthenticated, handshakes, pings, paused]) timeouts.stop()
    },
  }
}

/** Terminates a socket that has not answered the last ping. Contract: 6, heartbeat. */
function pingOrTerminate({ timeouts }: Pick<Deps, 'timeouts'>, socket: SessionSocket): void {
  if (socket.awaitsPong) return socket.terminate()
  socket.awaitsPong = true
  socket.ping()
  timeouts.pings.add(socket)
}
