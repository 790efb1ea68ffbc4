import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { callerHeader } from '@gatehouse/auth'
import { refuse, type Refusal } from '@gatehouse/runtime'
import { acceptRequestId, clientNetwork, requestIdHeader } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { endWithError } from '../http/client-errors.ts'
import { clientClosedRequest } from '../http/request-context.ts'
import { isReserved, traceHeaders } from '../proxy/proxy-headers.ts'
import type { SocketPairs } from './socket-pairs.ts'
import { createWebSocketProxy } from './websocket-proxy.ts'

export type UpgradeHandler = ReturnType<typeof createUpgradeHandler>

export function isWebSocketUpgrade({ method, url, headers }: IncomingMessage): boolean {
  return method === 'GET' && url?.split('?', 1)[0] === '/ws' && headers.upgrade?.toLowerCase() === 'websocket'
}

/** Tries the next session gateway when a connection is refused. Disposing drains. */
export function createUpgradeHandler(deps: Deps, pairs: SocketPairs) {
  const { replicas, timeouts, log } = deps
  const sessionGateways = replicas['session-gateway']
  const proxy = createWebSocketProxy(deps)

  async function forward(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const requestId = acceptRequestId(request.headers[requestIdHeader], deps.random)
    const address = deps.clientAddress(socket.remoteAddress, request.headers['x-forwarded-for'])
    const ended = observeUpgrade(deps, socket, { requestId, clientAddress: address })
    const refuseWith = (refusal: Refusal): void => {
      ended(refusal.status)
      endWithError(socket, refusal, requestId)
    }
    if (pairs.isDraining()) return refuseWith(refuse.restarting())
    const pair = pairs.add(socket)
    if (!deps.connectionLimits.upgrade(socket, clientNetwork(address))) {
      return refuseWith(refuse.too_many_connections())
    }
    const callerToken = deps.signers['session-gateway'].sign({ address, account: null })
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
    refuseWith(refuse.unavailable())
  }

  return {
    handleUpgrade: (request: IncomingMessage, socket: Socket, head: Buffer): void => {
      forward(request, socket, head).catch((err: unknown) => {
        log.error({ err }, 'websocket upgrade failed')
        socket.destroy()
      })
    },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await pairs.drain(timeouts.drainTimeoutMs)
      proxy[Symbol.dispose]()
    },
  }
}

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

/** Headers of the connection stay. Design: invariant 6. */
function toUpgradeHeaders(
  received: IncomingHttpHeaders,
  { callerToken, requestId }: { callerToken: string; requestId: string },
): IncomingHttpHeaders {
  const kept = Object.entries(received).filter(([name]) => !isReserved(name) && !droppedHeaders.has(name))
  return { ...Object.fromEntries(kept), [callerHeader]: callerToken, [requestIdHeader]: requestId }
}

/** Undefined after the time limit. Never rejects. */
async function connectReplica(origin: string, timeoutMs: number): Promise<Socket | undefined> {
  const { hostname, port } = new URL(origin)
  const host = hostname.replace(/^\[|\]$/g, '')
  return await new Promise((resolve) => {
    const socket = connect({ host, port: Number(port || 80), noDelay: true })
    const fail = (): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(undefined)
    }
    const timer = setTimeout(fail, timeoutMs)
    socket.once('error', fail)
    socket.once('connect', () => {
      clearTimeout(timer)
      socket.off('error', fail)
      resolve(socket)
    })
  })
}
