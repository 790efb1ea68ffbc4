import Koa from 'koa'
import type { CallerKey } from '@gatehouse/auth'
import { answerFor } from './answer-for.ts'
import { requireCaller } from './caller.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { answerOperations, type Readiness } from './operations-endpoints.ts'
import { acceptRequestId, requestIdHeader } from './request-id.ts'
import { commonErrors, type Clock, type Random } from '@gatehouse/runtime'

export type ServiceApp = Koa
export type ServiceContext = Koa.Context

type Needs = {
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
 * A Koa app with what every service does alike: request ids, one mapping of errors, log and metrics, the operator's
 * endpoints, and no entry without the gateway's statement of the caller. Routes come after it.
 */
export function createServiceApp(needs: Needs): ServiceApp {
  const app = new Koa()
  app.silent = true
  app.use(observe(needs))
  app.use(answerErrors(needs))
  app.use(answerOperations(needs))
  app.use(requireCaller(needs))
  return app
}

function observe({ service, random, log, metrics }: Needs): Koa.Middleware {
  const seconds = metrics.histogram('gatehouse_http_request_seconds', 'Time to answer a request', [
    'service',
    'route',
    'status',
  ])
  return async (ctx, next) => {
    const requestId = acceptRequestId(ctx.get(requestIdHeader), random)
    const started = performance.now()
    ctx.state.requestId = requestId
    ctx.set('X-Request-Id', requestId)
    await next()
    const ms = performance.now() - started
    const route = (ctx as { _matchedRoute?: unknown })._matchedRoute
    seconds.observe({ service, route: typeof route === 'string' ? route : 'none', status: ctx.status }, ms / 1000)
    log.debug({ requestId, method: ctx.method, path: ctx.path, status: ctx.status, ms: Math.round(ms) }, 'request')
  }
}

function answerErrors({ log }: Needs): Koa.Middleware {
  return async (ctx, next) => {
    try {
      await next()
      if (ctx.status === 404 && ctx.body == null) throw commonErrors.not_found()
      if (ctx.status === 405 || ctx.status === 501) throw commonErrors.method_not_allowed()
    } catch (error) {
      const { refusal, fault } = answerFor(error)
      if (fault) log.error({ requestId: ctx.state.requestId as string, error, path: ctx.path }, 'request failed')
      ctx.status = refusal.status
      for (const [name, value] of Object.entries(refusal.headers)) ctx.set(name, value)
      ctx.body = refusal.body
    }
  }
}
