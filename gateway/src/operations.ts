import Koa from 'koa'
import { answerOperations, listen } from '@gatehouse/service-kit'
import type { Deps } from './deps.ts'

/** Serves the operator's endpoints on a port of their own. Contract: 8. */
export async function startOperations(deps: Deps, draining: () => boolean) {
  const { bus, store, metrics, config } = deps
  const app = new Koa()
  app.use(answerOperations({ readiness: { nats: () => bus.ready(), redis: () => store.ready() }, metrics, draining }))
  return await listen(app.callback(), { host: config.opsHost, port: config.opsPort, portVariable: 'OPS_PORT' })
}
