import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Endpoint, RateLimit } from '@gatehouse/contracts'
import { commonErrors } from '@gatehouse/runtime'
import { acceptRequestId, requestIdHeader } from '@gatehouse/service-kit'
import { answerOptions } from './answer-options.ts'
import { authenticate, needsToken, vouch } from './authenticate.ts'
import type { Deps } from './deps.ts'
import { Exchange } from './exchange.ts'
import { forward } from './forwarding/forward.ts'
import { findOwnAnswer } from './own-answers.ts'
import { parseRequestTarget } from './request-target.ts'
import { createRouteTable } from './route-table.ts'
import { sendWebFile } from './web/send-web-file.ts'

const findRoute = createRouteTable()

/** Answers one request: from here, or by the service whose it is. Never rejects. */
export async function answerRequest(deps: Deps, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const requestId = acceptRequestId(request.headers[requestIdHeader], deps.random)
  const exchange = new Exchange(deps, { request, response, requestId })
  try {
    await answer(deps, exchange)
  } catch (error) {
    exchange.fail(error)
  }
}

async function answer(deps: Deps, exchange: Exchange): Promise<void> {
  const { request } = exchange
  const { path, search } = parseRequestTarget(request.url!)
  exchange.address = deps.clientAddress(
    request.socket.remoteAddress,
    request.headers['x-forwarded-for'] as string | undefined,
  )
  const isApi = path === '/api' || path.startsWith('/api/')
  if (!isApi && path !== '/ws') return await sendWebFile(deps.web, exchange, path)

  const route = findRoute(request.method!, path)
  if (request.method === 'OPTIONS') return answerOptions(exchange, route)
  const own = findOwnAnswer(request.method!, path)
  if (own) return own(exchange)
  if (!route) throw commonErrors.not_found()
  if ('allowed' in route) throw commonErrors.method_not_allowed({ headers: { Allow: route.allowed.join(', ') } })
  exchange.route = `${route.endpoint.method} ${route.endpoint.path}`
  if (route.endpoint.limit && !(await passLimit(deps, exchange, route.endpoint.limit))) return
  const caller = await callerOf(deps, exchange, route.endpoint)
  await forward(deps, { exchange, endpoint: route.endpoint, path: path + search, caller })
}

/** Counts the request before anything else is done for it. Spec: Limits; Contract: 1. */
async function passLimit(deps: Deps, exchange: Exchange, limit: RateLimit): Promise<boolean> {
  const { allowed, requests, remaining, resetSeconds } = await deps.rateLimits.take(limit, exchange.address)
  const reset = String(resetSeconds)
  exchange.extra = [
    'RateLimit-Limit',
    String(requests),
    'RateLimit-Remaining',
    String(remaining),
    'RateLimit-Reset',
    reset,
  ]
  if (allowed) return true
  deps.edgeMetrics.limited(limit.name)
  const body = {
    statusCode: 429,
    error: 'Too Many Requests',
    message: 'Rate limit exceeded',
    retryAfter: resetSeconds,
  }
  exchange.sendJson(429, body, ['Retry-After', reset])
  return false
}

function callerOf(deps: Deps, { request, address }: Exchange, { access }: Endpoint): string | Promise<string> {
  if (!needsToken(access)) return vouch(deps, { address, account: null })
  if (isRepeated(request, 'authorization'))
    throw commonErrors.invalid_input({ message: 'Send one Authorization header' })
  return authenticate(deps, { authorization: request.headers.authorization, access, address })
}

/** Node keeps the first of two and hides the other, which somebody behind a proxy may have taken for the one that counts. */
function isRepeated({ rawHeaders }: IncomingMessage, name: string): boolean {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index]!
    if (given.length === name.length && given.toLowerCase() === name) count += 1
  }
  return count > 1
}
