import { refuse } from '@gatehouse/runtime'
import Koa from 'koa'
import { listen, type Listening } from '../http/listen.ts'
import { createMetrics } from '../metrics/metrics.ts'
import { waitingDrainMs } from '../policy.ts'
import { healthEndpoints } from './health.ts'

/** A supervisor sees a live process that is not ready. Contract: 8. */
export async function serveHealthWhileWaiting({ host, port }: { host: string; port: number }): Promise<Listening> {
  const app = new Koa()
  const readiness = { required: { postgres: () => false } }
  app.use(healthEndpoints({ readiness, metrics: createMetrics(), draining: () => false }))
  app.use((ctx) => {
    const { status, body } = refuse.unavailable()
    ctx.status = status
    ctx.set('Retry-After', '1')
    ctx.body = body
  })
  return await listen(app.callback(), { host, port, drainMs: waitingDrainMs })
}
