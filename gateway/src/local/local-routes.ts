import type { StatementKeys } from '@gatehouse/auth'
import type { gatewayPaths } from '@gatehouse/contracts'
import { refuse } from '@gatehouse/runtime'
import { sendApiDocs, sendOpenApi } from './openapi/send-openapi.ts'
import { policy } from '../policy.ts'
import { setHeaders, type LocalContext, type LocalMiddleware } from './local-context.ts'
import { hasUnreadBody } from '../http/request-context.ts'
import { apiContentPolicy } from '../http/response-headers.ts'
import type { FindRoute } from '../http/route-table.ts'

type Serve = (ctx: LocalContext) => void

/** Contract: 8. */
function localRoutes({ published: keys }: StatementKeys): ReadonlyMap<string, Serve> {
  const routes: Record<(typeof gatewayPaths)[number] | '/ws', Serve> = {
    '/api/health': (ctx) => sendJson(ctx, 200, { status: 'ok' }),
    '/api/openapi.json': sendOpenApi,
    '/api/docs': sendApiDocs,
    '/api/upstream-keys': (ctx) => {
      sendJson(ctx, 200, { keys })
      ctx.set('Cache-Control', `public, max-age=${policy.upstreamKeysSeconds}`)
    },
    '/ws': demandUpgrade,
  }
  return new Map(Object.entries(routes))
}
const localMethods = ['GET', 'HEAD', 'OPTIONS']

/** Throws not_found, method_not_allowed. */
export function serveLocalRoutes(findRoute: FindRoute, statementKeys: StatementKeys): LocalMiddleware {
  const routes = localRoutes(statementKeys)
  return async (ctx, next) => {
    const { context } = ctx.state
    const { path } = context
    if (path !== '/api' && !path.startsWith('/api/') && path !== '/ws') {
      await next()
      return
    }
    setHeaders(ctx, context.withApiHeaders([]))
    if (hasUnreadBody(ctx.req)) ctx.set('Connection', 'close')
    const serve = routes.get(path)
    const allowed = serve ? localMethods : allowedOn(findRoute(ctx.method, path))
    if (ctx.method === 'OPTIONS') {
      answerOptions(ctx, allowed)
      return
    }
    if (!allowed) throw refuse.not_found()
    if (!serve || !localMethods.includes(ctx.method)) {
      throw refuse.method_not_allowed({ headers: { Allow: allowed.join(', ') } })
    }
    context.route = path
    serve(ctx)
  }
}

function allowedOn(route: ReturnType<FindRoute>): readonly string[] | undefined {
  return route && 'allowed' in route ? route.allowed : undefined
}

export const allMethods = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'

/** Contract: 1, CORS. */
function answerOptions(ctx: LocalContext, allowed: readonly string[] | undefined): void {
  if (ctx.get('Access-Control-Request-Method') !== '') {
    ctx.set('Access-Control-Allow-Methods', allMethods)
    ctx.set('Access-Control-Allow-Headers', 'Authorization, Content-Type, X-Request-Id, *')
    ctx.set('Access-Control-Max-Age', String(policy.preflightSeconds))
  } else if (allowed) {
    ctx.set('Allow', allowed.join(', '))
  } else {
    throw refuse.not_found()
  }
  ctx.status = 204
}

function demandUpgrade(ctx: LocalContext): void {
  ctx.set('Upgrade', 'websocket')
  ctx.append('Connection', 'Upgrade')
  sendJson(ctx, 426, { error: 'Connect with a WebSocket', statusCode: 426 })
}

function sendJson(ctx: LocalContext, status: number, body: object): void {
  ctx.set('Cache-Control', 'no-store')
  ctx.set('Content-Security-Policy', apiContentPolicy)
  ctx.status = status
  ctx.body = body
}
