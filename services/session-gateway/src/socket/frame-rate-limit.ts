import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import type { SessionSocket } from './session-socket.ts'

/**
 * Counts a frame. A socket above the limit is not read until it is resumed: what it sends waits in the buffers of its
 * peer, and other sockets are served meanwhile.
 */
export function limitFrameRate({ clock, timeouts }: Pick<Deps, 'clock' | 'timeouts'>, socket: SessionSocket): void {
  const second = Math.floor(clock.now() / 1000)
  if (socket.second !== second) {
    socket.second = second
    socket.frames = 0
  }
  socket.frames += 1
  if (socket.frames <= policy.framesPerSecond || socket.isPaused) return
  socket.pause()
  timeouts.paused.add(socket)
}
