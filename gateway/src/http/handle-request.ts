import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { RateLimit } from '@gatehouse/contracts'
import { invalidInput, refuse } from '@gatehouse/runtime'
import { acceptRequestId, clientNetwork, requestIdHeader } from '@gatehouse/service-kit'
import { authenticate, requiresToken, verifyBearer } from '../auth/authenticate.ts'
import type { SignedCaller } from '../auth/token-cache.ts'
import type { Deps } from '../deps.ts'
import { tooManyConnections } from '../errors.ts'
import { proxyRequest } from '../proxy/proxy-request.ts'
import { hasBody, openNoBody, receiveBody } from '../proxy/request-body.ts'
import { endpointTargets, type RouteTarget } from '../proxy/route-target.ts'
import { policy } from '../policy.ts'
import { createLocalApp } from '../local/local-routes.ts'
import { RequestContext } from './request-context.ts'
import { parseRequestTarget } from './request-target.ts'
import { createRouteTable, type FindRoute } from './route-table.ts'

/** Routes requests to services, upstreams or the local app. The handler never rejects. */
export function createRequestHandler(deps: Deps) {
  const findEndpoint = createRouteTable(endpointTargets(deps))
  const findRoute: FindRoute = (method, path) => findEndpoint(method, path) ?? deps.upstreams.findRoute(method, path)
  const serveLocally = createLocalApp(deps, findRoute)

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (!response.socket && !(await waitForTurn(request.socket, response))) return
    const requestId = acceptRequestId(request.headers[requestIdHeader], deps.random)
    const context = new RequestContext(deps, { request, response, requestId })
    try {
      if (request.headers.host === undefined) requireOldVersion(request)
      const { path, search } = parseRequestTarget(request.url ?? '')
      context.path = path
      context.search = search
      context.clientAddress = deps.clientAddress(request.socket.remoteAddress, request.headers['x-forwarded-for'])
      context.network = clientNetwork(context.clientAddress)
      limitRequests(deps, context)
      const route = findRoute(request.method ?? '', path)
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

/** Only HTTP/1.0 allows requests without Host. RFC 9112, 3.2. */
function requireOldVersion({ httpVersion }: IncomingMessage): void {
  if (httpVersion !== '1.0') throw invalidInput({ field: 'host', reason: 'required' })
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
  const judgeAgain = (): Promise<SignedCaller> => judgeCaller(deps, context, target)
  if (limit && !limit.by) await enforceRateLimit(deps, context, { limit, key: context.clientAddress })
  let openBody = openNoBody
  if (!isRead && hasBody(context.request)) {
    // A body is read only with a genuine token or statement. Revocation is checked after the body.
    if (countsToken(context, target)) verifyBearer(deps, authorizationOf(context))
    if (target.access === 'upstream') await judgeAgain()
    openBody = await receiveBody(context, body)
  }
  const caller = await judgeAgain()
  if (isUpload) deps.uploadLimits.start(context, caller.userId)
  if (limit?.by) await enforceRateLimit(deps, context, { limit, key: caller.upstream ?? caller.userId })
  await proxyRequest(deps, context, { target, caller, judgeAgain, openBody })
}

/** Throws too_many_connections. */
function limitRequests({ connectionLimits, requestQuota }: Deps, context: RequestContext): void {
  const { request, response, network } = context
  if (connectionLimits.isRefused(request.socket)) {
    response.setHeader('Connection', 'close')
    throw tooManyConnections()
  }
  if (!requestQuota.take(network)) throw tooManyConnections()
  context.release = () => requestQuota.release(network)
}

/** Counts by address first, and by account or upstream once the caller is known. Throws rate_limited. Spec: Limits; Contract: 1, 3. */
async function enforceRateLimit(
  deps: Pick<Deps, 'rateLimits' | 'gatewayMetrics'>,
  context: RequestContext,
  { limit, key }: { limit: RateLimit; key: string },
): Promise<void> {
  const { allowed, remaining, resetSeconds } = await deps.rateLimits.consume(limit, key)
  const reset = String(resetSeconds)
  context.rateLimitHeaders = ['RateLimit-Limit', String(limit.requests), 'RateLimit-Remaining', String(remaining)]
  context.rateLimitHeaders.push('RateLimit-Reset', reset)
  if (allowed) return
  deps.gatewayMetrics.rateLimited(limit.name)
  const fields = { message: 'Rate limit exceeded', retryAfter: resetSeconds } as const
  throw refuse.rate_limited({ fields, headers: { 'Retry-After': reset } })
}

function countsToken({ request }: RequestContext, { access, readsToken }: RouteTarget): boolean {
  return requiresToken(access) || (readsToken && request.headers.authorization !== undefined)
}

async function judgeCaller(deps: Deps, context: RequestContext, target: RouteTarget): Promise<SignedCaller> {
  const { clientAddress } = context
  const { access, signer, right } = target
  if (access === 'upstream') {
    const upstream = deps.upstreamCallers.judge(authorizationOf(context), right)
    return {
      token: signer.sign({ address: clientAddress, account: null, upstream }),
      userId: '',
      upstream: upstream.name,
    }
  }
  if (!countsToken(context, target)) {
    return { token: signer.sign({ address: clientAddress, account: null }), userId: '' }
  }
  const authorization = authorizationOf(context)
  const caller = await authenticate(deps, { authorization, access, clientAddress, signer })
  context.userId = caller.userId
  return caller
}

function authorizationOf({ request }: RequestContext): string | undefined {
  if (isRepeated(request, 'authorization')) {
    throw invalidInput({ field: 'authorization', reason: 'repeated' })
  }
  return request.headers.authorization
}

/** Node keeps the first of two equal headers. A proxy may have checked the second. */
function isRepeated({ rawHeaders }: IncomingMessage, name: string): boolean {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const header = rawHeaders[index] ?? ''
    if (header.length === name.length && header.toLowerCase() === name) count += 1
  }
  return count > 1
}
