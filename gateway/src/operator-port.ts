import Koa from 'koa'
import {
  handleErrors,
  healthEndpoints,
  listen,
  resourceReadiness,
  type Lifecycle,
  type Listening,
} from '@gatehouse/service-kit'
import type { Deps } from './deps.ts'
import { policy } from './policy.ts'

/** Contract: 8. */
export async function startOperatorPort(
  deps: Pick<Deps, 'bus' | 'accountStateCache' | 'metrics' | 'config' | 'log'>,
  lifecycle: Lifecycle,
): Promise<Listening> {
  const { metrics, config } = deps
  const app = new Koa()
  app.use(handleErrors(deps))
  app.use(healthEndpoints({ readiness: resourceReadiness(deps), metrics, draining: () => lifecycle.draining }))
  return await listen(app.callback(), {
    host: config.opsHost,
    port: config.opsPort,
    portVariable: 'OPS_PORT',
    drainMs: policy.operatorDrainMs,
  })
}
