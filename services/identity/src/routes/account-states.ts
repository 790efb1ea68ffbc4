import Router from '@koa/router'
import { accountStatesQuery } from '@gatehouse/contracts'
import { readAccountStates } from '@gatehouse/database'
import { jsonBody, parseInput, type AppState } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'

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
