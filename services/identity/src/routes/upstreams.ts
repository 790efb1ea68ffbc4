import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { answer, type AppState } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { listAccountChanges, readToldAccounts } from '../operations/told-accounts.ts'

/** Contract: 3, upstreams. */
export function upstreamRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true })
  answer(router, endpoints.readAccounts, async ({ ids }) => ({ accounts: await readToldAccounts(deps, ids) }))
  answer(router, endpoints.listAccountChanges, (query) => listAccountChanges(deps, query))
  return router
}
