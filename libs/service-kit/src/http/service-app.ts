import { channel } from 'node:diagnostics_channel'
import { Socket } from 'node:net'
import { createCallerVerifier, type CallerVerifier, type CallerKeys } from '@gatehouse/auth'
import { DatabaseUnavailable } from '@gatehouse/database'
import { refuse, runInSpan, toErrorResponse, type Tracing } from '@gatehouse/runtime'
import Koa, { type Middleware } from 'koa'
import type Router from '@koa/router'
import { healthEndpoints, resourceReadiness, type Readiness, type Check } from '../health/health.ts'
import { createRequestSampler } from '../log/log.ts'
import { asRefusal } from './input.ts'
import { acceptRequestId, requestIdHeader, requireCaller, sendRefusal, type AppState } from './request-state.ts'
import type { Context, Resources } from '../resources/open-resources.ts'
import { listen, type Lifecycle, type ListenOptions, type Listening } from './listen.ts'

type Routed = { _matchedRoute?: string | RegExp | undefined }

type AppDeps = Context & { service: string; verifyCaller: CallerVerifier; readiness: Readiness; draining(): boolean }

const routeOf = ({ _matchedRoute: route }: Routed): string => (typeof route === 'string' ? route : 'none')

/** Every request needs a caller token, except health checks. Routes come after this. */
export function createServiceApp(deps: AppDeps) {
  const app = new Koa<AppState, Routed>()
  app.silent = true
  if (deps.tracing) app.use(traceRequests(deps, deps.tracing))
  app.use(observeRequests(deps))
  app.use(handleErrors(deps))
  app.use(healthEndpoints(deps))
  app.use(requireCaller(deps))
  return app
}

/** Failures are not sampled. A gateway in the same process has written the line of the request. */
function observeRequests({ service, clock, random, log, metrics }: AppDeps): Middleware<AppState, Routed> {
  const isSampled = createRequestSampler(clock)
  const labels = ['service', 'route', 'status']
  const seconds = metrics.histogram('gatehouse_http_request_seconds', 'Time to answer a request', labels)
  return async (ctx, next) => {
    const requestId = acceptRequestId(ctx.get(requestIdHeader), random)
    const started = performance.now()
    ctx.state.requestId = requestId
    ctx.set('X-Request-Id', requestId)
    await next()
    const ms = performance.now() - started
    const route = routeOf(ctx)
    seconds.observe({ service, route, status: ctx.status }, ms / 1000)
    const isOwnLine = route !== 'none' && ctx.req.socket instanceof Socket
    const level = isOwnLine && (ctx.status >= 500 || isSampled()) ? 'info' : 'debug'
    // The path may hold an invite token.
    log[level]({ requestId, method: ctx.method, route, status: ctx.status, ms: Math.round(ms) }, 'request')
  }
}

/** Begins no trace of its own, so that probes have none. */
function traceRequests({ service }: AppDeps, tracing: Tracing): Middleware<AppState, Routed> {
  return async (ctx, next) => {
    const parent = ctx.get('traceparent')
    if (parent === '') return void (await next())
    const attributes = { 'gatehouse.service': service, 'http.request.method': ctx.method }
    const span = tracing.startSpan(ctx.method, 'server', { parent, attributes })
    await runInSpan(span, async () => {
      await next()
      const { status, state } = ctx
      const route = routeOf(ctx)
      span.rename(`${ctx.method} ${route}`)
      if (status >= 500) span.set({ 'error.type': String(status) })
      span.set({ 'http.route': route, 'http.response.status_code': status, 'gatehouse.request_id': state.requestId })
    })
  }
}

/** Tests compare refusals with the endpoint's declaration. */
const answered = channel('gatehouse:refusal')

/** The one place where an error becomes a response. Contract: 1, errors. */
export function handleErrors({ log, metrics }: Pick<Context, 'log' | 'metrics'>): Middleware<AppState> {
  const help = 'Requests that failed because PostgreSQL could not do its work'
  const faults = metrics.counter('gatehouse_database_faults_total', help, ['fault'])
  return async (ctx, next) => {
    try {
      await next()
      if (ctx.status === 404 && ctx.body == null) throw refuse.not_found()
      if (ctx.status === 405 || ctx.status === 501) throw refuse.method_not_allowed()
    } catch (err) {
      if (err instanceof DatabaseUnavailable) faults.inc({ fault: err.fault ?? 'other' })
      const { refusal, fault } = toErrorResponse(asRefusal(err))
      answered.publish({ route: `${ctx.method} ${String((ctx as Routed)._matchedRoute)}`, code: refusal.code })
      if (fault) log.error({ err, requestId: ctx.state.requestId, path: ctx.path }, 'request failed')
      sendRefusal(ctx, refusal)
    }
  }
}

export type RunningService = Listening

type ServiceOptions = Omit<ListenOptions, 'lifecycle' | 'server'> & {
  name: string
  callerKeys: CallerKeys
  routers: readonly Router<AppState>[]
  readiness?: Record<string, Check>
  optional?: Record<string, Check>
}

export async function startHttpService(service: ServiceOptions, resources: Context & Partial<Resources>) {
  const lifecycle: Lifecycle = { draining: false }
  const { required, optional = {} } = resourceReadiness(resources)
  const app = createServiceApp({
    ...resources,
    service: service.name,
    verifyCaller: createCallerVerifier(service.callerKeys, service.name),
    readiness: { required: { ...required, ...service.readiness }, optional: { ...optional, ...service.optional } },
    draining: () => lifecycle.draining,
  })
  for (const router of service.routers) app.use(router.routes()).use(router.allowedMethods())
  return await listen(app.callback(), { announceDrain: true, ...service, lifecycle })
}
