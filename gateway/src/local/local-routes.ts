import { createHash } from 'node:crypto'
import type { SigningKeys } from '@gatehouse/auth'
import type { gatewayPaths } from '@gatehouse/contracts'
import { refuse } from '@gatehouse/runtime'
import type Koa from 'koa'
import type { GatewayConfig } from '../config.ts'
import { allMethods, apiContentPolicy, type HeaderList } from '../http/headers.ts'
import { hasUnreadBody, type RequestContext } from '../http/request-context.ts'
import type { FindRoute } from '../http/route-target.ts'
import { policy } from '../policy.ts'
import { createDocsPage } from './openapi/docs-page.ts'
import { createOpenApi } from './openapi/openapi.ts'

export type LocalState = { context: RequestContext }
export type LocalContext = Koa.ParameterizedContext<LocalState>
export type LocalMiddleware = Koa.Middleware<LocalState>
type Serve = (ctx: LocalContext) => void

const localMethods = ['GET', 'HEAD', 'OPTIONS']

type LocalDeps = { signingKeys: SigningKeys; config: Pick<GatewayConfig, 'publicAddress' | 'passkeyOrigins'> }

/** Throws not_found, method_not_allowed. Contract: 8, public routes of the gateway; 3, Passkeys. */
export function serveLocalRoutes(findRoute: FindRoute, { signingKeys, config }: LocalDeps): LocalMiddleware {
  const { published: keys } = signingKeys
  const origins = [config.publicAddress.origin, ...(config.passkeyOrigins ?? [])].filter((one) =>
    one.startsWith('http'),
  )
  const served: Record<(typeof gatewayPaths)[number] | '/ws' | '/.well-known/webauthn', Serve> = {
    '/.well-known/webauthn': (ctx) => sendJson(ctx, 200, { origins }),
    '/api/health': (ctx) => sendJson(ctx, 200, { status: 'ok' }),
    '/api/openapi.json': serveDocument(() => {
      const text = JSON.stringify(createOpenApi())
      return { type: 'application/json; charset=utf-8', contentPolicy: "default-src 'none'", text }
    }),
    '/api/docs': serveDocument(() => createDocsPage(createOpenApi())),
    '/api/upstream-keys': (ctx) => {
      sendJson(ctx, 200, { keys })
      ctx.set('Cache-Control', `public, max-age=${policy.upstreamKeysSeconds}`)
    },
    '/ws': (ctx) => {
      ctx.set('Upgrade', 'websocket')
      ctx.append('Connection', 'Upgrade')
      sendJson(ctx, 426, refuse.upgrade_required().body)
    },
  }
  const routes: ReadonlyMap<string, Serve> = new Map(Object.entries(served))
  return async (ctx, next) => {
    const { context } = ctx.state
    const { path } = context
    const serve = routes.get(path)
    if (!serve && !/^\/(api|oauth2)(\/|$)/.test(path)) return void (await next())
    setHeaders(ctx, context.withApiHeaders([]))
    if (hasUnreadBody(ctx.req)) ctx.set('Connection', 'close')
    const route = serve ? { allowed: localMethods } : findRoute(ctx.method, path)
    const allowed = route && 'allowed' in route ? route.allowed : undefined
    if (ctx.method === 'OPTIONS') return answerOptions(ctx, allowed)
    if (!allowed) throw refuse.not_found()
    if (!serve || !localMethods.includes(ctx.method)) {
      throw refuse.method_not_allowed({ headers: { Allow: allowed.join(', ') } })
    }
    context.route = path
    serve(ctx)
  }
}

/** The gateway answers preflights itself, also for endpoints of services. Contract: 1, CORS. */
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

function sendJson(ctx: LocalContext, status: number, body: object): void {
  ctx.set('Cache-Control', 'no-store')
  ctx.set('Content-Security-Policy', apiContentPolicy)
  ctx.status = status
  ctx.body = body
}

type Document = { type: string; contentPolicy: string; text: string }

/** The document is made at the first request. */
function serveDocument(create: () => Document): Serve {
  let cached: (Document & { etag: string }) | undefined
  return (ctx) => {
    if (!cached) {
      const document = create()
      cached = { ...document, etag: etagOf(document.text) }
    }
    ctx.set('Cache-Control', 'no-cache')
    ctx.set('Content-Security-Policy', cached.contentPolicy)
    ctx.type = cached.type
    ctx.body = cached.text
    setEtag(ctx, cached.etag)
  }
}

export function setHeaders(ctx: LocalContext, headers: HeaderList): void {
  for (let index = 0; index + 1 < headers.length; index += 2) ctx.set(headers[index] ?? '', headers[index + 1] ?? '')
}

export function etagOf(content: string | Buffer): string {
  return `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
}

/** `ctx.fresh` ignores If-None-Match beside `Cache-Control: no-cache`, which fetch() adds. */
export function setEtag(ctx: LocalContext, etag: string): void {
  ctx.set('ETag', etag)
  const etags = ctx.get('If-None-Match').split(',')
  if (etags.some((one) => one.trim().replace(/^W\//, '') === etag)) ctx.status = 304
}
