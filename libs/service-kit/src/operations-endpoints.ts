import type { Middleware } from 'koa'
import type { Metrics } from './metrics.ts'

/** What a process depends on, each with a check that tells whether it answers right now. */
export type Readiness = Record<string, () => boolean | Promise<boolean>>

/** `/healthz`: it runs. `/readyz`: what it depends on answers. `/metrics`: Prometheus. Contract: 8. */
export function answerOperations(deps: { readiness: Readiness; metrics: Metrics; draining(): boolean }): Middleware {
  return async (ctx, next) => {
    if (ctx.method !== 'GET') return await next()
    if (ctx.path === '/healthz') {
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

async function checkAll(readiness: Readiness): Promise<Record<string, boolean>> {
  const checks = Object.entries(readiness).map(async ([name, check]) => [name, await answers(check)] as const)
  return Object.fromEntries(await Promise.all(checks))
}

/** A dependency that does not answer within two seconds is not ready. */
async function answers(check: () => boolean | Promise<boolean>): Promise<boolean> {
  const late = new Promise<boolean>((resolve) => setTimeout(resolve, 2_000, false).unref())
  try {
    return await Promise.race([check(), late])
  } catch {
    return false
  }
}
