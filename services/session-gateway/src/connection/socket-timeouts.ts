import { closures } from '@gatehouse/contracts'
import type { OperationContext } from '../context.ts'
import { policy } from '../policy.ts'
import { createTimeoutSet, type TimeoutSet } from '../timeout-set.ts'
import { closeSocket, refuseHandshake, type HandshakeRefusal, type RefusalDeps } from './close-sockets.ts'
import { sendText } from './send-text.ts'
import { encodeMessage, type SessionSocket } from './session-socket.ts'

/** `handshakes`: from a verified token until `ready`. `reauthentications`: from the demand for a newer token. */
export type SocketTimeouts = Record<
  'unauthenticated' | 'handshakes' | 'reauthentications' | 'pings' | 'paused',
  TimeoutSet<SessionSocket>
>

type TimeoutDeps = Pick<OperationContext, 'timer' | 'timings' | 'clock'> & Omit<RefusalDeps, 'timeouts'>

/** One timer for each limit, not one for each socket. Spec: WebSocket handshake 1; Contract: 6, before authentication, heartbeat. */
export function createSocketTimeouts({ timer, timings, ...rest }: TimeoutDeps): SocketTimeouts {
  const refuse = (refusal: HandshakeRefusal) => (socket: SessionSocket) => refuseHandshake(deps, socket, refusal)
  const timeouts: SocketTimeouts = {
    unauthenticated: createTimeoutSet(timings.authTimeoutMs, timer, refuse('authenticationTimeout')),
    // The client did not cause the delay.
    handshakes: createTimeoutSet(timings.handshakeLimitMs, timer, refuse('unavailable')),
    reauthentications: createTimeoutSet(timings.authTimeoutMs, timer, (socket) => endUnrenewed(deps, socket)),
    pings: createTimeoutSet(timings.pingMs, timer, (socket) => pingOrTerminate(timeouts, socket)),
    paused: createTimeoutSet(policy.framePauseMs, timer, (socket) => resumeWithinLimit(deps, socket)),
  }
  const deps = { ...rest, timeouts }
  return timeouts
}

const reauthenticate = encodeMessage({ type: 'reauthenticate' })

type DemandDeps = Pick<OperationContext, 'sessionMetrics'> & { timeouts: Pick<SocketTimeouts, 'reauthentications'> }

/** The socket closes where no `auth` follows. Of several demands the first one's time counts. Contract: 6, auth once more. */
export function demandToken(deps: DemandDeps, socket: SessionSocket): void {
  const { reauthentications } = deps.timeouts
  if (reauthentications.has(socket)) return
  reauthentications.add(socket)
  sendText(deps, socket, reauthenticate)
}

function endUnrenewed(deps: RefusalDeps, socket: SessionSocket): void {
  closeSocket(deps, socket, closures.tokenRevoked)
  deps.sessionMetrics.forcedDisconnects.inc({ reason: 'password_changed' })
}

/** A socket that has not answered the last ping is dead. Contract: 6, heartbeat. */
function pingOrTerminate({ pings }: SocketTimeouts, socket: SessionSocket): void {
  if (socket.awaitsPong) return socket.terminate()
  socket.awaitsPong = true
  socket.ping()
  pings.add(socket)
}

type PauseDeps = Pick<OperationContext, 'clock'> & { timeouts: Pick<SocketTimeouts, 'paused'> }

/** False above the limit: the socket is then paused. Frames of one read still arrive. Contract: 6, messages. */
export function countFrame(deps: PauseDeps & RefusalDeps, socket: SessionSocket, bytes: number): boolean {
  if (socket.phase === 'ready') {
    workOff(deps.clock, socket)
    socket.frames += 1 + Math.floor(bytes / policy.bytesPerFrame)
    if (socket.frames > policy.framesPerSecond) pause(deps, socket)
    return socket.frames <= policy.framesPerSecond
  }
  socket.frames += 1
  if (socket.phase === 'closing') {
    // The time limit of the closing handshake ends the connection.
    if (socket.frames > policy.framesAfterClose) socket.pause()
    return false
  }
  if (socket.frames <= policy.framesBeforeReady) return true
  refuseHandshake(deps, socket, 'firstMessageNotAuth')
  return false
}

export function resumeWithinLimit({ clock, timeouts }: PauseDeps, socket: SessionSocket): void {
  workOff(clock, socket)
  if (socket.frames > policy.framesPerSecond) timeouts.paused.add(socket)
  else socket.resume()
}

function pause({ timeouts }: PauseDeps, socket: SessionSocket): void {
  if (socket.isPaused) return
  socket.pause()
  timeouts.paused.add(socket)
}

function workOff(clock: OperationContext['clock'], socket: SessionSocket): void {
  const second = Math.floor(clock.now() / 1000)
  const passed = Math.max(0, second - socket.framesCountedAtSecond)
  socket.framesCountedAtSecond = second
  socket.frames = Math.max(0, socket.frames - passed * policy.framesPerSecond)
}
