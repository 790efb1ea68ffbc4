import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { callerHeader } from '@gatehouse/auth'
import { acceptRequestId, clientNetwork, requestIdHeader } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { endWithError } from '../http/client-errors.ts'
import { clientClosedRequest } from '../http/request-context.ts'
import { isReserved, traceHeaders } from '../proxy/proxy-headers.ts'
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
 * Forwards `/ws` upgrades to a session gateway, and to the next one when a connection is refused. Disposing it takes no
 * more and drains the open sockets.
 */
export function createUpgradeHandler(deps: Deps, pairs: SocketPairs): UpgradeHandler {
  const { replicas, timeouts, log } = deps
  const sessionGateways = replicas['session-gateway']
  const proxy = createWebSocketProxy(deps)

  async function forward(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const requestId = acceptRequestId(request.headers[requestIdHeader], deps.random)
    const address = deps.clientAddress(socket.remoteAddress, request.headers['x-forwarded-for'])
    const ended = observeUpgrade(deps, socket, { requestId, clientAddress: address })
    const refuse = (message: string): void => {
      ended(503)
      endWithError(socket, 503, { message, requestId })
    }
    if (pairs.isDraining()) return refuse('The server is restarting, please try again')
    const pair = pairs.add(socket)
    if (!deps.connectionLimits.upgrade(socket, clientNetwork(address))) {
      return refuse('Too many connections, please try again')
    }
    const callerToken = deps.signCaller({ address, account: null })
    request.headers = toUpgradeHeaders(request.headers, { callerToken, requestId })
    for (const replica of sessionGateways.candidates()) {
      const upstream = await connectReplica(replica.origin, timeouts.connectMs)
      if (upstream) {
        sessionGateways.markHealthy(replica)
        pair.pairWith(upstream)
        const onOpen = (): void => {
          ended(101)
          pair.opened()
        }
        proxy.forwardUpgrade({ request, requestId, socket, head, upstream, replica, onOpen, onRefused: ended })
        return
      }
      sessionGateways.markFailed(replica)
      if (socket.destroyed) return
    }
    deps.gatewayMetrics.upstreamFailed('session-gateway', 'unreached')
    log.debug({ requestId }, 'no session gateway reachable')
    refuse('Service temporarily unavailable, please try again')
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

/** Counts and logs how an upgrade ended, once: by the first status, or by the client that left before. */
function observeUpgrade(
  { gatewayMetrics, accessLog }: Pick<Deps, 'gatewayMetrics' | 'accessLog'>,
  socket: Socket,
  about: { requestId: string; clientAddress: string },
): (status: number) => void {
  const started = performance.now()
  let isOpen = true
  const ended = (status: number): void => {
    if (!isOpen) return
    isOpen = false
    const seconds = (performance.now() - started) / 1000
    gatewayMetrics.responseSent('/ws', status, seconds)
    accessLog({ ...about, method: 'GET', route: '/ws', status, seconds, userId: undefined })
  }
  socket.once('close', () => ended(clientClosedRequest))
  return ended
}

const droppedHeaders = new Set(['forwarded', 'x-real-ip', 'authorization', 'cookie', ...traceHeaders])

/** The headers of an upgrade for the session gateway; those of the connection stay. Design: invariant 6. */
function toUpgradeHeaders(
  received: IncomingHttpHeaders,
  { callerToken, requestId }: { callerToken: string; requestId: string },
): IncomingHttpHeaders {
  const kept = Object.entries(received).filter(([name]) => !isReserved(name) && !droppedHeaders.has(name))
  return { ...Object.fromEntries(kept), [callerHeader]: callerToken, [requestIdHeader]: requestId }
}
