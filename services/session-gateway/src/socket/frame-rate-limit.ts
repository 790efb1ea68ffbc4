import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import { refuseHandshake } from './handshake.ts'
import type { SessionSocket } from './session-socket.ts'

type LimitDeps = Pick<Deps, 'clock' | 'sessions' | 'presence' | 'timeouts' | 'sessionMetrics'>

/**
 * Counts a frame of any kind and its bytes; false when it is above the limit. A socket above it is not read further:
 * what it sends waits in the buffers of its peer, and other sockets are served meanwhile. All frames of one read arrive
 * before a pause takes effect, so each of them is worked off afterwards. Contract: 6.
 */
export function countFrame(deps: LimitDeps, socket: SessionSocket, bytes: number): boolean {
  if (socket.phase === 'ready') return countWhenReady(deps, socket, bytes)
  socket.frames += 1
  if (socket.phase === 'closing') {
    // Without a timer: the time limit of the closing handshake ends the connection.
    if (socket.frames > policy.framesAfterClose) socket.pause()
    return false
  }
  if (socket.frames <= policy.framesBeforeReady) return true
  refuseHandshake(deps, socket, 'firstMessageNotAuth')
  return false
}

/** Reads the socket again if all that it sent is worked off, else later. */
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
