import type { Deps, OperationContext } from '../deps.ts'
import { isAuthenticated } from '../sessions/session-registry.ts'
import { closeSpread } from '../socket/drain-sockets.ts'

/** The next `ready` tells what an evicted node missed. Contract: 6, presence_update, server going away. */
export function closeEvictedSockets(
  deps: Pick<OperationContext, 'timer' | 'timings' | 'log'> &
    Pick<Deps, 'sessions' | 'presence' | 'timeouts' | 'openSockets'>,
): Disposable {
  const stopped = new AbortController()
  let closing = new AbortController()
  deps.presence.onReRegistered(() => {
    closing.abort()
    closing = new AbortController()
    const signal = AbortSignal.any([stopped.signal, closing.signal])
    const sockets = deps.openSockets.all().filter(isAuthenticated)
    deps.log.warn({ sockets: sockets.length }, 'this node was evicted while it ran, its sockets are closed')
    void closeSpread(deps, sockets, signal)
  })
  return { [Symbol.dispose]: () => stopped.abort() }
}
