import { readAccountStates } from '@gatehouse/authority'
import Router from '@koa/router'
import { accountStatesQuery, endpoints, operatorEndpoints } from '@gatehouse/contracts'
import { adminView, sanitizeUser } from '@gatehouse/domain'
import { answer, callerOf, jsonBody, operatorsOnly, parseInput, requestIdOf } from '@gatehouse/service-kit'
import type { AppState } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { createUser } from '../operations/administration/create-user.ts'
import { listAccountChanges, readAccountsForUpstream } from '../operations/accounts-for-upstreams.ts'
import { findUser } from '../queries/load-user.ts'

/** For the command line. docs/decisions/caller-identity.md. */
export function operatorRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true, prefix: '/internal/operator' })
  router.use(operatorsOnly)
  const pathOf = ({ path }: { path: string }) => path.slice('/internal/operator'.length)
  router.get(pathOf(operatorEndpoints.findUser), async (ctx) => {
    const { user } = parseInput(operatorEndpoints.findUser.query, ctx.query)
    const foundUser = await findUser(deps.orm.em.fork(), user)
    ctx.body = { user: { ...sanitizeUser(foundUser, true), ...adminView(foundUser) } }
  })
  router.post(pathOf(operatorEndpoints.createUser), jsonBody, async (ctx) => {
    const account = parseInput(operatorEndpoints.createUser.body, ctx.state.body)
    const input = { ...account, address: callerOf(ctx).address, requestId: requestIdOf(ctx) }
    const { user, temporaryPassword } = await createUser(deps, input)
    ctx.status = 201
    ctx.body = { user: sanitizeUser(user, true), temporaryPassword }
  })
  return router
}

/** Gateways ask on a cache miss. Design: invariant 1. */
export function accountStateRoutes({ orm, accountStateCache }: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true })
  router.post(accountStatesQuery.path, jsonBody, async (ctx) => {
    const { userIds } = parseInput(accountStatesQuery.request, ctx.state.body)
    ctx.body = { states: await readAccountStates(orm.em, userIds), cacheId: accountStateCache.id() }
  })
  return router
}

/** What upstreams ask. Contract: 3, upstreams. */
export function upstreamRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true })
  answer(router, endpoints.readAccounts, async ({ ids }) => ({ accounts: await readAccountsForUpstream(deps, ids) }))
  answer(router, endpoints.listAccountChanges, (query) => listAccountChanges(deps, query))
  return router
}
