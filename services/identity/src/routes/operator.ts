import Router from '@koa/router'
import { operatorEndpoints as endpoints } from '@gatehouse/contracts'
import { sanitizeUser } from '@gatehouse/domain'
import { callerOf, jsonBody, operatorsOnly, parseInput, requestIdOf, type AppState } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { createUser } from '../operations/administration/create-user.ts'
import { endUserSessions } from '../operations/credentials/end-sessions.ts'
import { findUser } from '../queries/find-user.ts'

/** For the command line. docs/decisions/operator-caller.md. */
export function operatorRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true, prefix: '/internal/operator' })
  router.use(operatorsOnly)
  const pathOf = ({ path }: { path: string }) => path.slice('/internal/operator'.length)
  router.get(pathOf(endpoints.findUser), async (ctx) => {
    const { user } = parseInput(endpoints.findUser.query, ctx.query)
    ctx.body = { user: sanitizeUser(await findUser(deps.orm.em.fork(), user), true) }
  })
  router.post(pathOf(endpoints.createUser), jsonBody, async (ctx) => {
    const account = parseInput(endpoints.createUser.body, ctx.request.body)
    const input = { ...account, address: callerOf(ctx).address, requestId: requestIdOf(ctx) }
    const { user, temporaryPassword } = await createUser(deps, input)
    ctx.status = 201
    ctx.body = { user: sanitizeUser(user, true), temporaryPassword }
  })
  router.post(pathOf(endpoints.endUserSessions), async (ctx) => {
    const { id: userId } = parseInput(endpoints.endUserSessions.params, ctx.params)
    await endUserSessions(deps, { userId, requestId: requestIdOf(ctx) })
    ctx.body = { success: true }
  })
  return router
}
