import { closures, limits } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { closeSocket } from '../socket/close-socket.ts'
import type { LocalUser } from './session-registry.ts'

/** Only `ready` sockets count: a revoked token must not close those of a live one. Contract: 6. */
export function closeOldestSockets(
  deps: Pick<Deps, 'sessions' | 'presence' | 'timeouts' | 'sessionMetrics'>,
  user: LocalUser,
): void {
  if (user.sockets.size <= limits.socketsPerAccount) return
  const ready = [...user.sockets].filter(({ phase }) => phase === 'ready')
  const excess = ready.slice(0, Math.max(0, ready.length - limits.socketsPerAccount))
  for (const socket of excess) closeSocket(deps, socket, closures.tooManyConnections)
  deps.sessionMetrics.forcedDisconnects.inc({ reason: 'too_many_connections' }, excess.length)
}
