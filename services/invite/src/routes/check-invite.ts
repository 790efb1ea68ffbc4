import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { checkInvite } from '../operations/check-invite.ts'

/** Contract: 3, check-invite. A query that is out of shape is no fault here: it names no usable invite. */
export function checkInviteRoutes(deps: Pick<Deps, 'orm' | 'clock'>): Router {
  const router = new Router()
  router.get(endpoints.checkInvite.path, async (ctx) => {
    ctx.body = await checkInvite(deps, ctx.query.token)
  })
  return router
}
