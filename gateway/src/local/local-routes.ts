import type { IncomingMessage } from 'node:http'
import type { SigningKeys } from '@gatehouse/auth'
import type { gatewayPaths } from '@gatehouse/contracts'
import { refuse } from '@gatehouse/runtime'
import Koa from 'koa'
import { policy } from '../policy.ts'
import { createLinkPreviews } from './link-preview.ts'
import { setHeaders, etagOf, setEtag, type LocalContext, type LocalMiddleware } from './local-context.ts'
import { hasUnreadBody, type RequestContext } from '../http/request-context.ts'
import { apiContentPolicy } from '../http/response-headers.ts'
import type { FindRoute } from '../http/route-table.ts'
import { serveWebApp } from './web-app.ts'
import type { Deps } from '../deps.ts'
import { createDocsPage } from './openapi/docs-page.ts'
import { createOpenApi } from './openapi/openapi.ts'

type Serve = (ctx: LocalContext) => void

/** Contract: 8. */
function localRoutes({ published: keys }: SigningKeys): ReadonlyMap<string, Serve> {
  const routes: Record<(typeof gatewayPaths)[number] | '/ws', Serve> = {
    '/api/health': (ctx) => sendJson(ctx, 200, { status: 'ok' }),
    '/api/openapi.json': serveDocument(openApiDocument),
    '/api/docs': serveDocument(() => createDocsPage(createOpenApi())),
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
export function serveLocalRoutes(findRoute: FindRoute, signingKeys: SigningKeys): LocalMiddleware {
  const routes = localRoutes(signingKeys)
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

export function createLocalApp(
  deps: Pick<Deps, 'config' | 'signingKeys' | 'replicas' | 'signers' | 'clock' | 'log'>,
  findRoute: FindRoute,
): (context: RequestContext) => Promise<void> {
  const app = new Koa<LocalContext['state']>()
  app.silent = true
  app.context.onerror = function (this: LocalContext, error: unknown) {
    if (error === null || error === undefined || this.res.destroyed) return
    if (!this.res.headersSent) for (const name of this.res.getHeaderNames()) this.remove(name)
    this.res.statusMessage = ''
    this.state.context.fail(error)
  }
  const contexts = new WeakMap<IncomingMessage, RequestContext>()
  app.use(async (ctx, next) => {
    const context = contexts.get(ctx.req)
    if (context) ctx.state.context = context
    await next()
  })
  app.use(serveLocalRoutes(findRoute, deps.signingKeys))
  app.use(serveWebApp(deps.config.webRoot, createLinkPreviews(deps)))
  const handle = app.callback()
  return async (context) => {
    contexts.set(context.request, context)
    await handle(context.request, context.response)
  }
}

type Document = { type: string; contentPolicy: string; text: string }

/** The document is made at the first request. */
function serveDocument(create: () => Document): Serve {
  let made: (Document & { etag: string }) | undefined
  return (ctx) => {
    if (!made) {
      const document = create()
      made = { ...document, etag: etagOf(document.text) }
    }
    ctx.set('Cache-Control', 'no-cache')
    ctx.set('Content-Security-Policy', made.contentPolicy)
    ctx.type = made.type
    ctx.body = made.text
    setEtag(ctx, made.etag)
  }
}

function openApiDocument(): Document {
  const text = JSON.stringify(createOpenApi())
  return { type: 'application/json; charset=utf-8', contentPolicy: "default-src 'none'", text }
}
