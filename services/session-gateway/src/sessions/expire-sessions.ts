import { closures } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { closeSocket } from '../socket/close-socket.ts'

/** Spec: Bearer tokens; Contract: 6. */
export function closeExpiredSessions(
  deps: Pick<Deps, 'clock' | 'sessions' | 'presence' | 'timeouts' | 'sessionMetrics'>,
): void {
  const now = Math.floor(deps.clock.now() / 1000)
  for (const user of deps.sessions.users()) {
    for (const socket of user.sockets) {
      if (socket.exp > now || socket.phase !== 'ready') continue
      closeSocket(deps, socket, closures.tokenRevoked)
      deps.sessionMetrics.forcedDisconnects.inc({ reason: 'token_expired' })
    }
  }
}
