import { withTimeout } from '@gatehouse/runtime'
import type { Middleware } from 'koa'
import type { Metrics } from '../metrics/metrics.ts'
import type { Resources } from '../resources/open-resources.ts'

/** What a process depends on, each with a check that tells whether it answers right now. */
export type Readiness = Record<string, () => boolean | Promise<boolean>>

/** A dependency that does not answer in this time is not ready. */
const checkMs = 2_000

/** `/healthz`: the process runs. `/readyz`: what it depends on answers. `/metrics`: Prometheus. Contract: 8. */
export function healthEndpoints(deps: { readiness: Readiness; metrics: Metrics; draining(): boolean }): Middleware {
  return async (ctx, next) => {
    if (ctx.method !== 'GET') {
      await next()
    } else if (ctx.path === '/healthz') {
      ctx.body = { status: 'ok' }
    } else if (ctx.path === '/readyz') {
      const checks = await checkAll(deps.readiness)
      const ready = !deps.draining() && Object.values(checks).every(Boolean)
      ctx.status = ready ? 200 : 503
      ctx.body = { ready, draining: deps.draining(), checks }
    } else if (ctx.path === '/metrics') {
      const { contentType, text } = await deps.metrics.render()
      ctx.set('Content-Type', contentType)
      ctx.body = text
    } else {
      await next()
    }
  }
}

/** Whether the resources that the process has opened answer right now. */
export function resourceReadiness({ orm, bus, accountStateCache }: Partial<Resources>): Readiness {
  return {
    ...(orm && {
      postgres: async () => {
        await orm.em.fork().execute('select 1')
        return true
      },
    }),
    ...(bus && { nats: () => bus.ready() }),
    ...(accountStateCache && { redis: () => accountStateCache.ready() }),
  }
}

async function checkAll(readiness: Readiness): Promise<Record<string, boolean>> {
  const checks = Object.entries(readiness).map(async ([name, check]) => [name, await passes(check)] as const)
  return Object.fromEntries(await Promise.all(checks))
}

async function passes(check: () => boolean | Promise<boolean>): Promise<boolean> {
  try {
    return await withTimeout(check, checkMs, () => new Error('no answer in time'))
  } catch {
    return false
  }
}
