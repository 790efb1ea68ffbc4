import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import type { AppState } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { loadSettings } from '../queries/load-settings.ts'
import { instanceReply } from '../replies/instance-replies.ts'

/** Contract: 3, GET /api/instance/info. */
export function instanceRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true })
  router.get(endpoints.instanceInfo.path, async (ctx) => {
    ctx.body = instanceReply(await loadSettings(deps.orm.em), deps.config)
  })
  return router
}
