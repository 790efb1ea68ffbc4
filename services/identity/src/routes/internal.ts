import Router from '@koa/router'
import { operatorEndpoints as endpoints, accountStatesQuery } from '@gatehouse/contracts'
import { adminView, sanitizeUser } from '@gatehouse/domain'
import { callerOf, jsonBody, operatorsOnly, parseInput, requestIdOf, type AppState } from '@gatehouse/service-kit'
import { readAccountStates } from '@gatehouse/database'
import type { Deps } from '../deps.ts'
import { createUser } from '../operations/administration/create-user.ts'
import { findUser } from '../queries/load-user.ts'

/** For the command line. docs/decisions/operator-caller.md. */
export function operatorRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true, prefix: '/internal/operator' })
  router.use(operatorsOnly)
  const pathOf = ({ path }: { path: string }) => path.slice('/internal/operator'.length)
  router.get(pathOf(endpoints.findUser), async (ctx) => {
    const { user } = parseInput(endpoints.findUser.query, ctx.query)
    const found = await findUser(deps.orm.em.fork(), user)
    ctx.body = { user: { ...sanitizeUser(found, true), ...adminView(found) } }
  })
  router.post(pathOf(endpoints.createUser), jsonBody, async (ctx) => {
    const account = parseInput(endpoints.createUser.body, ctx.request.body)
    const input = { ...account, address: callerOf(ctx).address, requestId: requestIdOf(ctx) }
    const { user, temporaryPassword } = await createUser(deps, input)
    ctx.status = 201
    ctx.body = { user: sanitizeUser(user, true), temporaryPassword }
  })
  return router
}

/** Gateways ask on a cache miss. Design: invariant 1. */
export function accountStateRoutes({
  orm,
  accountStateCache,
}: Pick<Deps, 'orm' | 'accountStateCache'>): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true })
  router.post(accountStatesQuery.path, jsonBody, async (ctx) => {
    const { userIds } = parseInput(accountStatesQuery.request, ctx.request.body)
    ctx.body = { states: await readAccountStates(orm.em, userIds), cacheId: accountStateCache.id() }
  })
  return router
}
