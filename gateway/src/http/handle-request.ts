import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Endpoint, RateLimit } from '@gatehouse/contracts'
import { commonErrors, defineErrors } from '@gatehouse/runtime'
import { acceptRequestId, requestIdHeader } from '@gatehouse/service-kit'
import { authenticate, requiresToken } from '../auth/authenticate.ts'
import type { Deps } from '../deps.ts'
import { proxyRequest } from '../proxy/proxy-request.ts'
import { createLocalApp } from './local-app.ts'
import { RequestContext } from './request-context.ts'
import { parseRequestTarget } from './request-target.ts'
import { createRouteTable } from './route-table.ts'

const limitErrors = defineErrors({ rate_limited: { status: 429, message: 'Too Many Requests' } })

/**
 * Answers every request: an endpoint of the contract by its service, everything else by the local app. The handler never
 * rejects.
 */
export function createRequestHandler(deps: Deps) {
  const findRoute = createRouteTable()
  const serveLocally = createLocalApp(deps.config.webRoot, findRoute)

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const requestId = acceptRequestId(request.headers[requestIdHeader], deps.random)
    const context = new RequestContext(deps, { request, response, requestId })
    try {
      const { path, search } = parseRequestTarget(request.url ?? '')
      context.path = path
      context.search = search
      context.clientAddress = deps.clientAddress(request.socket.remoteAddress, request.headers['x-forwarded-for'])
      const route = findRoute(request.method ?? '', path)
      if (route && 'endpoint' in route) await serveEndpoint(deps, context, route.endpoint)
      else await serveLocally(context)
    } catch (error) {
      context.fail(error)
    }
  }
}

async function serveEndpoint(deps: Deps, context: RequestContext, endpoint: Endpoint): Promise<void> {
  context.route = `${endpoint.method} ${endpoint.path}`
  if (endpoint.limit) await enforceRateLimit(deps, context, endpoint.limit)
  const callerToken = await callerTokenOf(deps, context, endpoint)
  await proxyRequest(deps, context, { endpoint, callerToken })
}

/** Counts the request before anything else is done for it. Throws rate_limited. Spec: Limits; Contract: 1. */
async function enforceRateLimit(
  deps: Pick<Deps, 'rateLimits' | 'gatewayMetrics'>,
  context: RequestContext,
  limit: RateLimit,
): Promise<void> {
  const { allowed, requests, remaining, resetSeconds } = await deps.rateLimits.consume(limit, context.clientAddress)
  const reset = String(resetSeconds)
  context.rateLimitHeaders = ['RateLimit-Limit', String(requests), 'RateLimit-Remaining', String(remaining)]
  context.rateLimitHeaders.push('RateLimit-Reset', reset)
  if (allowed) return
  deps.gatewayMetrics.rateLimited(limit.name)
  const fields = { message: 'Rate limit exceeded', retryAfter: resetSeconds }
  throw limitErrors.rate_limited({ fields, headers: { 'Retry-After': reset } })
}

function callerTokenOf(
  deps: Pick<Deps, 'accountStates' | 'tokenCache' | 'clock' | 'signCaller'>,
  { request, clientAddress }: RequestContext,
  { access }: Endpoint,
): string | Promise<string> {
  if (!requiresToken(access)) return deps.signCaller({ address: clientAddress, account: null })
  if (isRepeated(request, 'authorization')) {
    throw commonErrors.invalid_input({ message: 'Send one Authorization header' })
  }
  return authenticate(deps, { authorization: request.headers.authorization, access, clientAddress })
}

/** Node keeps the first of two equal headers; a proxy in front of the gateway may have checked the second one. */
function isRepeated({ rawHeaders }: IncomingMessage, name: string): boolean {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const header = rawHeaders[index] ?? ''
    if (header.length === name.length && header.toLowerCase() === name) count += 1
  }
  return count > 1
}
