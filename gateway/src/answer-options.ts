import { commonErrors } from '@gatehouse/runtime'
import type { Exchange } from './exchange.ts'
import { policy } from './policy.ts'
import { isOwnPath } from './own-answers.ts'
import type { Route } from './route-table.ts'

const everyMethod = 'GET, HEAD, POST, PATCH, DELETE, OPTIONS'

/** Answers preflights for any origin, and plain OPTIONS with what is allowed. Contract: 1, CORS. */
export function answerOptions(exchange: Exchange, route: Route): void {
  const { headers } = exchange.request
  if (headers['access-control-request-method'] !== undefined) {
    return exchange.sendEmpty(204, [
      'Access-Control-Allow-Methods',
      everyMethod,
      'Access-Control-Allow-Headers',
      'Authorization, Content-Type, X-Request-Id, *',
      'Access-Control-Max-Age',
      String(policy.preflightSeconds),
    ])
  }
  const isOwn = isOwnPath(exchange.request.url!.split('?', 1)[0]!)
  if (!route && !isOwn) throw commonErrors.not_found()
  const allowed = route && 'allowed' in route ? route.allowed.join(', ') : 'GET, HEAD, OPTIONS'
  exchange.sendEmpty(204, ['Allow', allowed])
}
