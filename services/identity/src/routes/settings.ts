import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { loadInstanceSettings } from '@gatehouse/domain'
import { adminOf, jsonBody, parseInput } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { patchSettings } from '../operations/patch-settings.ts'
import { settingsReply } from '../replies/settings-reply.ts'

/** Contract: 5, settings. */
export function settingsRoutes(deps: Deps): Router {
  const router = new Router()
  router.get(endpoints.getSettings.path, async (ctx) => {
    adminOf(ctx)
    ctx.body = settingsReply(await loadInstanceSettings(deps.orm.em.fork()))
  })
  router.patch(endpoints.patchSettings.path, jsonBody, async (ctx) => {
    const actor = adminOf(ctx)
    const changes = parseInput(endpoints.patchSettings.body, ctx.request.body)
    ctx.body = settingsReply(await patchSettings(deps, { changes, actor }))
  })
  return router
}
