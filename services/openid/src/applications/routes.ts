import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { answer, requireAdmin, requireUser, type AppState } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import * as change from './change-application.ts'
import { endConnected } from './end-connected.ts'
import { applicationReply, listApplications, listConnected, newApplicationReply } from './replies.ts'

/** What admins do with applications. Contract: 3, Applications. */
export function applicationRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true })
  answer(router, endpoints.listApplications, () => listApplications(deps))
  answer(router, endpoints.createApplication, async (fields, ctx) => {
    const { application, clientSecret } = await change.createApplication(deps, { ...fields, admin: requireAdmin(ctx) })
    const secret = clientSecret === undefined ? {} : { clientSecret }
    return { application: newApplicationReply(deps, application), ...secret }
  })
  answer(router, endpoints.patchApplication, async ({ id, ...fields }, ctx) => {
    const application = await change.patchApplication(deps, { id, admin: requireAdmin(ctx) }, fields)
    return { application: await applicationReply(deps, application) }
  })
  answer(router, endpoints.deleteApplication, ({ id }, ctx) => {
    return change.deleteApplication(deps, { id, admin: requireAdmin(ctx) })
  })
  answer(router, endpoints.renewApplicationSecret, async ({ id }, ctx) => {
    return { clientSecret: await change.renewApplicationSecret(deps, { id, admin: requireAdmin(ctx) }) }
  })
  answer(router, endpoints.testApplicationReceiver, ({ id }, ctx) => {
    return change.testReceiver(deps, { id, admin: requireAdmin(ctx) })
  })
  answer(router, endpoints.listConnectedApplications, async (_input, ctx) => {
    return { applications: await listConnected(deps.orm.em.fork(), requireUser(ctx).userId) }
  })
  answer(router, endpoints.endConnectedApplication, ({ id }, ctx) =>
    endConnected(deps, { id, caller: requireUser(ctx) }),
  )
  return router
}
