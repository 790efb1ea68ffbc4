import Router from '@koa/router'
import { endpoints, fanoutBody } from '@gatehouse/contracts'
import { jsonBody, requireUser, parseInput, requestIdOf } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { deleteRemoteIdentities } from '../operations/delete-remote-identities.ts'

/** Spec: federation-identity/delete. Contract: 7, fan-out. */
export function fanOutRoutes(deps: Deps): Router {
  const router = new Router()
  router.post(endpoints.deleteFederationIdentity.path, jsonBody, async (ctx) => {
    const caller = requireUser(ctx)
    const input = parseInput(fanoutBody, ctx.request.body)
    ctx.body = { results: await deleteRemoteIdentities(deps, { ...input, caller, requestId: requestIdOf(ctx) }) }
  })
  return router
}
