import type { Deps } from '../deps.ts'
import type { SessionSocket } from './session-socket.ts'

/** Pings a socket, or cuts it when it has not answered since the last time. Contract: 6, heartbeat. */
export function checkPeer(deps: Pick<Deps, 'pings'>, socket: SessionSocket): void {
  if (socket.unanswered) return socket.terminate()
  socket.unanswered = true
  socket.ping()
  deps.pings.add(socket)
}
