import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import { refuseHandshake } from './handshake.ts'
import type { SessionSocket } from './session-socket.ts'

type LimitDeps = Pick<Deps, 'clock' | 'sessions' | 'presence' | 'timeouts' | 'sessionMetrics'>

/** False above the limit: the socket is then paused. Frames of one read still arrive. Contract: 6. */
export function countFrame(deps: LimitDeps, socket: SessionSocket, bytes: number): boolean {
  if (socket.phase === 'ready') return countWhenReady(deps, socket, bytes)
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

export function resumeWithinLimit({ clock, timeouts }: Pick<Deps, 'clock' | 'timeouts'>, socket: SessionSocket): void {
  workOff(clock, socket)
  if (socket.frames > policy.framesPerSecond) timeouts.paused.add(socket)
  else socket.resume()
}

function countWhenReady({ clock, timeouts }: LimitDeps, socket: SessionSocket, bytes: number): boolean {
  workOff(clock, socket)
  socket.frames += 1 + Math.floor(bytes / policy.bytesPerFrame)
  if (socket.frames <= policy.framesPerSecond) return true
  if (!socket.isPaused) {
    socket.pause()
    timeouts.paused.add(socket)
  }
  return false
}

function workOff(clock: Deps['clock'], socket: SessionSocket): void {
  const second = Math.floor(clock.now() / 1000)
  const passed = Math.max(0, second - socket.second)
  socket.second = second
  socket.frames = Math.max(0, socket.frames - passed * policy.framesPerSecond)
}
