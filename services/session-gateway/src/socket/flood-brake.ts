import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import type { SessionSocket } from './session-socket.ts'

/**
 * Counts a frame. A socket that sends more in a second than anybody needs is not read until the next: the rest waits in
 * the peer's own buffers, and the other sockets keep their turn.
 */
export function brakeFlood(deps: Pick<Deps, 'clock' | 'braked'>, socket: SessionSocket): void {
  const second = Math.floor(deps.clock.now() / 1000)
  if (socket.second !== second) {
    socket.second = second
    socket.frames = 0
  }
  socket.frames += 1
  if (socket.frames <= policy.framesPerSecond || socket.isPaused) return
  socket.pause()
  deps.braked.add(socket)
}
