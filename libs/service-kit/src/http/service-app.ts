import type { CallerKey } from '@gatehouse/auth'
import { commonErrors, toErrorResponse, type Clock, type Random } from '@gatehouse/runtime'
import Koa, { type Middleware } from 'koa'
import { healthEndpoints, type Readiness } from '../health/health.ts'
import type { Log } from '../log/log.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { asRefusal } from './parser-errors.ts'
import { acceptRequestId, requestIdHeader, requireCaller, type AppState } from './request-state.ts'

/** What the router adds to a context. */
type Routed = { _matchedRoute?: string | RegExp | undefined }

export type ServiceApp = Koa<AppState, Routed>

type ServiceAppDeps = {
  service: string
  clock: Clock
  random: Random
  log: Log
  metrics: Metrics
  callerKey: CallerKey
  readiness: Readiness
  draining(): boolean
}

/**
 * A Koa app with what every service does alike: request ids, the one mapping of errors, log and metrics, health endpoints,
 * and no access without the caller token of the gateway. Routes come after it.
 */
export function createServiceApp(deps: ServiceAppDeps): ServiceApp {
  const app: ServiceApp = new Koa()
  app.silent = true
  app.use(observeRequests(deps))
  app.use(handleErrors(deps))
  app.use(healthEndpoints(deps))
  app.use(requireCaller(deps))
  return app
}

function observeRequests({ service, random, log, metrics }: ServiceAppDeps): Middleware<AppState, Routed> {
  const labels = ['service', 'route', 'status']
  const seconds = metrics.histogram('gatehouse_http_request_seconds', 'Time to answer a request', labels)
  return async (ctx, next) => {
    const requestId = acceptRequestId(ctx.get(requestIdHeader), random)
    const started = performance.now()
    ctx.state.requestId = requestId
    ctx.set('X-Request-Id', requestId)
    await next()
    const ms = performance.now() - started
    const route = typeof ctx._matchedRoute === 'string' ? ctx._matchedRoute : 'none'
    seconds.observe({ service, route, status: ctx.status }, ms / 1000)
    log.debug({ requestId, method: ctx.method, path: ctx.path, status: ctx.status, ms: Math.round(ms) }, 'request')
  }
}

function handleErrors({ log }: ServiceAppDeps): Middleware<AppState> {
  return async (ctx, next) => {
    try {
      await next()
      if (ctx.status === 404 && ctx.body == null) throw commonErrors.not_found()
      if (ctx.status === 405 || ctx.status === 501) throw commonErrors.method_not_allowed()
    } catch (err) {
      const { refusal, fault } = toErrorResponse(asRefusal(err))
      if (fault) log.error({ err, requestId: ctx.state.requestId, path: ctx.path }, 'request failed')
      ctx.status = refusal.status
      for (const [name, value] of Object.entries(refusal.headers)) ctx.set(name, value)
      ctx.body = refusal.body
    }
  }
}
