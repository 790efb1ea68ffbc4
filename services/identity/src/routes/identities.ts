import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { sanitizeUser } from '@gatehouse/domain'
import { jsonBody, parseInput, requestIdOf, requireUser, type AppState } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { deleteRemoteIdentities } from '../operations/federation/delete-remote-identities.ts'
import { issueAttachProof } from '../operations/federation/issue-attach-proof.ts'
import { reattach } from '../operations/federation/reattach.ts'
import { putRegistry, readRegistry } from '../operations/federation/registry.ts'

/** Contract: 7; federation-wire.md 4, 5. */
export function identityRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true })
  router.get(endpoints.getRegistry.path, async (ctx) => {
    ctx.body = await readRegistry(deps, requireUser(ctx).userId)
  })
  router.put(endpoints.putRegistry.path, jsonBody, async (ctx) => {
    const caller = requireUser(ctx)
    const list = parseInput(endpoints.putRegistry.body, ctx.request.body)
    ctx.body = { ok: true, updatedAt: await putRegistry(deps, { ...list, caller, requestId: requestIdOf(ctx) }) }
  })
  router.post(endpoints.deleteFederationIdentity.path, jsonBody, async (ctx) => {
    const caller = requireUser(ctx)
    const input = parseInput(endpoints.deleteFederationIdentity.body, ctx.request.body)
    ctx.body = { results: await deleteRemoteIdentities(deps, { ...input, caller, requestId: requestIdOf(ctx) }) }
  })
  router.post(endpoints.attachProof.path, jsonBody, async (ctx) => {
    const caller = requireUser(ctx)
    const { targetDomain } = parseInput(endpoints.attachProof.body, ctx.request.body)
    ctx.body = { token: await issueAttachProof(deps, { caller, targetDomain }) }
  })
  router.post(endpoints.reattach.path, jsonBody, async (ctx) => {
    const caller = requireUser(ctx)
    const { token } = parseInput(endpoints.reattach.body, ctx.request.body)
    const user = await reattach(deps, { caller, token, requestId: requestIdOf(ctx) })
    ctx.body = { success: true, user: sanitizeUser(user, true) }
  })
  return router
}
