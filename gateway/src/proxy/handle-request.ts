import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { RateLimit } from '@gatehouse/contracts'
import { invalidInput, rateLimited, refuse } from '@gatehouse/runtime'
import { acceptRequestId, clientNetwork, requestIdHeader } from '@gatehouse/service-kit'
import { authenticate, countsToken, verifyBearer } from '../auth/authenticate.ts'
import type { SignedCaller } from '../auth/callers.ts'
import type { Deps } from '../deps.ts'
import { RequestContext } from '../http/request-context.ts'
import { parseRequestTarget } from '../http/request-target.ts'
import type { FindRoute, RouteTarget } from '../http/route-target.ts'
import { createLocalApp } from '../local/web-app.ts'
import { policy } from '../policy.ts'
import { hasBody, openNoBody, receiveBody } from './bodies.ts'
import { proxyRequest } from './proxy-request.ts'
import { createEndpointRoutes } from './routes.ts'

/** Routes requests to services, upstreams or the local app. The handler never rejects. */
export function createRequestHandler(deps: Deps) {
  const findEndpoint = createEndpointRoutes(deps)
  const findRoute: FindRoute = (method, path) => findEndpoint(method, path) ?? deps.upstreams.findRoute(method, path)
  const serveLocally = createLocalApp(deps, findRoute)
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (!response.socket && !(await waitForTurn(request.socket, response))) return
    const { method = '', url = '', headers, httpVersion, socket } = request
    const requestId = acceptRequestId(headers[requestIdHeader], deps.random)
    const context = new RequestContext(deps, { request, response, requestId })
    try {
      // Only HTTP/1.0 allows requests without Host. RFC 9112, 3.2.
      if (headers.host === undefined && httpVersion !== '1.0') throw invalidInput({ field: 'host', reason: 'required' })
      const { path, search } = parseRequestTarget(url)
      context.path = path
      context.search = search
      context.clientAddress = deps.clientAddress(socket.remoteAddress, headers['x-forwarded-for'])
      context.network = clientNetwork(context.clientAddress)
      limitRequests(deps, context)
      const route = findRoute(method, path)
      if (route && 'target' in route) {
        context.path = route.path ?? path
        await serveTarget(deps, context, route.target)
      } else {
        await serveLocally(context)
      }
    } catch (error) {
      context.fail(error)
    }
  }
}

const pipelined = new WeakMap<Socket, number>()

/** Waits for earlier responses of the connection. False when the client sends too many requests ahead. RFC 9112, 9.3.2. */
async function waitForTurn(socket: Socket, response: ServerResponse): Promise<boolean> {
  const ahead = (pipelined.get(socket) ?? 0) + 1
  if (ahead > policy.pipelinedRequests) {
    socket.destroy()
    return false
  }
  pipelined.set(socket, ahead)
  await new Promise((resolve) => void response.once('socket', resolve))
  pipelined.set(socket, (pipelined.get(socket) ?? 1) - 1)
  return true
}

async function serveTarget(deps: Deps, context: RequestContext, target: RouteTarget): Promise<void> {
  context.route = target.route
  const { limit, isRead, isUpload, body } = target
  const reauthenticate = (): Promise<SignedCaller> => authenticate(deps, context, target)
  if (limit && !limit.by) await enforceRateLimit(deps, context, limit, context.clientAddress)
  let openBody = openNoBody
  if (!isRead && hasBody(context.request)) {
    // A body is read only with a genuine token or statement. Revocation is checked after the body.
    if (countsToken(context, target)) verifyBearer(deps, context)
    if (target.access === 'upstream') await reauthenticate()
    openBody = await receiveBody(context, body)
  }
  const caller = await reauthenticate()
  if (isUpload) deps.uploadLimits.start(context, caller.userId)
  if (limit?.by) await enforceRateLimit(deps, context, limit, caller.upstream ?? caller.userId)
  await proxyRequest(deps, context, { target, caller, reauthenticate, openBody })
}

type QuotaDeps = Pick<Deps, 'connectionLimits' | 'requestQuota'>

/** Throws too_many_connections. Contract: 1, statuses. */
function limitRequests({ connectionLimits, requestQuota }: QuotaDeps, context: RequestContext): void {
  const { request, response, network } = context
  const isRefused = connectionLimits.isRefused(request.socket)
  if (isRefused) response.setHeader('Connection', 'close')
  if (isRefused || !requestQuota.take(network)) throw refuse.too_many_connections()
  context.release = () => requestQuota.release(network)
}

type LimitDeps = Pick<Deps, 'rateLimits' | 'gatewayMetrics'>

/** Counts by address first, and by account or upstream once the caller is known. Throws rate_limited. Spec: Limits; Contract: 1, rate limits. */
async function enforceRateLimit(
  deps: LimitDeps,
  context: RequestContext,
  limit: RateLimit,
  key: string,
): Promise<void> {
  const { allowed, remaining, resetSeconds } = await deps.rateLimits.consume(limit, key)
  context.rateLimitHeaders = ['RateLimit-Limit', String(limit.requests), 'RateLimit-Remaining', String(remaining)]
  context.rateLimitHeaders.push('RateLimit-Reset', String(resetSeconds))
  if (allowed) return
  deps.gatewayMetrics.rateLimited(limit.name)
  throw rateLimited(resetSeconds)
}
