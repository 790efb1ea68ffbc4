import { once } from 'node:events'
import { Agent, type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { callerHeader } from '@gatehouse/auth'
import { rateLimited, refuse, type Refusal } from '@gatehouse/runtime'
import { acceptRequestId, clientNetwork, requestIdHeader } from '@gatehouse/service-kit'
import { createProxyServer } from 'http-proxy'
import type { Deps } from '../deps.ts'
import { endWithError } from '../http/client-errors.ts'
import { isReserved, traceHeaders } from '../http/headers.ts'
import { clientClosedRequest } from '../http/request-context.ts'
import type { SocketPairs } from './socket-pairs.ts'

export type UpgradeHandler = ReturnType<typeof createUpgradeHandler>

export function isWebSocketUpgrade({ method, url, headers }: IncomingMessage): boolean {
  return method === 'GET' && url?.split('?', 1)[0] === '/ws' && headers.upgrade?.toLowerCase() === 'websocket'
}

/** Tries the next session gateway when a connection is refused. Disposing drains. */
export function createUpgradeHandler(deps: Deps, pairs: SocketPairs) {
  const { replicas, timeouts, log } = deps
  const sessionGateways = replicas['session-gateway']
  const proxy = createWebSocketProxy(timeouts.upgradeMs)

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
    request.headers = toUpgradeHeaders(request.headers, { [callerHeader]: callerToken, [requestIdHeader]: requestId })
    for (const replica of sessionGateways.candidates()) {
      const { origin } = replica
      const upstream = await connectReplica(origin, timeouts.connectMs)
      if (upstream) {
        sessionGateways.markHealthy(replica)
        pair.pairWith(upstream)
        const onOpen = (): void => {
          ended(101)
          // A client that takes nothing hides the end of the other connection.
          socket.setTimeout(timeouts.socketSilenceMs, () => socket.destroy())
          pair.opened()
        }
        const onRefused = (refusal: Refusal): void => {
          log.debug({ requestId, replica: origin, status: refusal.status }, 'websocket upgrade refused')
          refuseWith(refusal)
        }
        return proxy.forwardUpgrade({ request, socket, head }, { upstream, origin, onOpen, onRefused })
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

type ObserverDeps = Pick<Deps, 'accessLog' | 'gatewayMetrics'>

function observeUpgrade(deps: ObserverDeps, socket: Socket, about: { requestId: string; clientAddress: string }) {
  const started = performance.now()
  let isOpen = true
  const ended = (status: number): void => {
    if (!isOpen) return
    isOpen = false
    const seconds = (performance.now() - started) / 1000
    deps.gatewayMetrics.responseSent('/ws', status, seconds)
    deps.accessLog({ ...about, method: 'GET', route: '/ws', status, seconds, userId: undefined })
  }
  socket.once('close', () => ended(clientClosedRequest))
  return ended
}

const droppedHeaders = new Set(['forwarded', 'x-real-ip', 'authorization', 'cookie', ...traceHeaders])

/** Headers of the connection stay. Design: invariant 6. */
function toUpgradeHeaders(received: IncomingHttpHeaders, own: Record<string, string>): IncomingHttpHeaders {
  const forwardable = Object.entries(received).filter(([name]) => !isReserved(name) && !droppedHeaders.has(name))
  return { ...Object.fromEntries(forwardable), ...own }
}

/** Undefined after the time limit. Never rejects. */
async function connectReplica(origin: string, timeoutMs: number): Promise<Socket | undefined> {
  const { hostname, port } = new URL(origin)
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80), noDelay: true })
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(timeoutMs) })
    return socket
  } catch {
    socket.destroy()
    return undefined
  }
}

type Client = { request: IncomingMessage; socket: Socket; head: Buffer }
type Hop = { upstream: Socket; origin: string; onOpen: () => void; onRefused: (refusal: Refusal) => void }

/** http-proxy alone has no response timeout and leaves the connection open when an upgrade fails. */
function createWebSocketProxy(timeoutMs: number) {
  const proxy = createProxyServer({ ws: true })
  const outgoing = new WeakMap<IncomingMessage, ClientRequest>()
  proxy.on('proxyReqWs', (upgradeRequest, request) => void outgoing.set(request, upgradeRequest))
  proxy.on('error', () => undefined)

  function forwardUpgrade({ request, socket, head }: Client, { upstream, origin, onOpen, onRefused }: Hop): void {
    let isSettled = false
    const settle = (): void => {
      isSettled = true
      clearTimeout(timer)
    }
    const refuseWith = (refusal: Refusal): void => {
      if (isSettled) return
      settle()
      if (!socket.destroyed) onRefused(refusal)
      upstream.destroy()
    }
    const timer = setTimeout(() => refuseWith(refuse.upgrade_late()), timeoutMs)
    socket.once('close', () => clearTimeout(timer))
    const agent = Object.assign(new Agent(), { createConnection: () => upstream })
    proxy.ws(request, socket, head, { target: origin, agent }, () => refuseWith(refuse.upgrade_broken()))
    const upgradeRequest = outgoing.get(request)
    upgradeRequest?.once('upgrade', () => {
      settle()
      onOpen()
    })
    // http-proxy would stream the refusal to the client.
    upgradeRequest?.removeAllListeners('response')
    upgradeRequest?.once('response', (response) => {
      response.resume()
      refuseWith(refusalOf(response))
    })
  }
  return { forwardUpgrade, [Symbol.dispose]: (): void => proxy.close() }
}

const refusals = new Map([
  [400, refuse.malformed_request],
  [403, refuse.forbidden],
  [404, refuse.not_found],
  [426, refuse.upgrade_required],
])

function refusalOf({ statusCode = 0, headers }: IncomingMessage): Refusal {
  const retryAfter = Number(headers['retry-after']) || 1
  if (statusCode === 429) return rateLimited(retryAfter)
  if (statusCode === 503) return refuse.unavailable({ headers: { 'Retry-After': String(retryAfter) } })
  return refusals.get(statusCode)?.() ?? refuse.upgrade_broken()
}
