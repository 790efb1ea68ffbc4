import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { callerHeader } from '@gatehouse/auth'
import { acceptRequestId, requestIdHeader } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { endWithError } from '../http/client-errors.ts'
import { clientNetwork } from '../limits/client-network.ts'
import { isReserved } from '../proxy/proxy-headers.ts'
import { connectReplica } from './connect-replica.ts'
import type { SocketPairs } from './socket-pairs.ts'
import { createWebSocketProxy } from './websocket-proxy.ts'

export type UpgradeHandler = AsyncDisposable & {
  handleUpgrade(request: IncomingMessage, socket: Socket, head: Buffer): void
}

/** Requests with another `Upgrade` are answered as if they had none. */
export function isWebSocketUpgrade({ method, url, headers }: IncomingMessage): boolean {
  return method === 'GET' && url?.split('?', 1)[0] === '/ws' && headers.upgrade?.toLowerCase() === 'websocket'
}

/**
 * Forwards `/ws` upgrades to a session gateway, and to the next one when a connection is refused. Disposing it waits until
 * the session gateways have closed their sockets, at most the drain timeout.
 */
export function createUpgradeHandler(deps: Deps, pairs: SocketPairs): UpgradeHandler {
  const { replicas, timeouts, log } = deps
  const sessionGateways = replicas['session-gateway']
  const proxy = createWebSocketProxy(deps)

  async function forward(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const pair = pairs.add(socket)
    const address = deps.clientAddress(socket.remoteAddress, request.headers['x-forwarded-for'])
    const requestId = acceptRequestId(request.headers[requestIdHeader], deps.random)
    if (!deps.connectionLimits.upgrade(socket, clientNetwork(address))) {
      endWithError(socket, 503, { message: 'Too many connections, please try again', requestId })
      return
    }
    const callerToken = deps.signCaller({ address, account: null })
    request.headers = toUpgradeHeaders(request.headers, { callerToken, requestId })
    for (const replica of sessionGateways.candidates()) {
      const upstream = await connectReplica(replica.origin, timeouts.connectMs)
      if (upstream) {
        sessionGateways.markHealthy(replica)
        pair.pairWith(upstream)
        proxy.forwardUpgrade({ request, requestId, socket, head, upstream, replica })
        return
      }
      sessionGateways.markFailed(replica)
      if (socket.destroyed) return
    }
    log.warn({ requestId }, 'no session gateway reachable')
    endWithError(socket, 503, { message: 'Service temporarily unavailable, please try again', requestId })
  }

  return {
    handleUpgrade: (request, socket, head) => {
      forward(request, socket, head).catch((err: unknown) => {
        log.error({ err }, 'websocket upgrade failed')
        socket.destroy()
      })
    },
    [Symbol.asyncDispose]: async () => {
      await pairs.drain(timeouts.drainTimeoutMs)
      proxy[Symbol.dispose]()
    },
  }
}

const droppedHeaders = new Set(['forwarded', 'x-real-ip', 'authorization', 'cookie'])

/** The headers of an upgrade for the session gateway; those of the connection stay. Design: invariant 6. */
function toUpgradeHeaders(
  received: IncomingHttpHeaders,
  { callerToken, requestId }: { callerToken: string; requestId: string },
): IncomingHttpHeaders {
  const kept = Object.entries(received).filter(([name]) => !isReserved(name) && !droppedHeaders.has(name))
  return { ...Object.fromEntries(kept), [callerHeader]: callerToken, [requestIdHeader]: requestId }
}
