import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { loadInstanceSettings } from '@gatehouse/domain'
import type { Deps } from '../deps.ts'
import { instanceReply } from '../replies/instance-reply.ts'

/** Contract: 3, GET /api/instance/info. */
export function instanceRoutes(deps: Deps): Router {
  const router = new Router()
  router.get(endpoints.instanceInfo.path, async (ctx) => {
    ctx.body = instanceReply(await loadInstanceSettings(deps.orm.em.fork()), deps.config)
  })
  return router
}
