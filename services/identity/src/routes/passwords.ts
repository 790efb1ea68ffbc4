import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { jsonBody, memberOf, parseInput, requestIdOf } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { changePassword } from '../operations/change-password.ts'
import { verifyPassword } from '../operations/verify-password.ts'
import { issueToken } from '../replies/credentials-reply.ts'

/** Contract: 3, change-password and verify-password. */
export function passwordRoutes(deps: Deps): Router {
  const router = new Router()
  router.post(endpoints.changePassword.path, jsonBody, async (ctx) => {
    const input = parseInput(endpoints.changePassword.body, ctx.request.body)
    const changed = await changePassword(deps, {
      ...input,
      userId: memberOf(ctx).userId,
      requestId: requestIdOf(ctx),
    })
    ctx.body = { token: issueToken(deps, changed.user, changed.issuedAt) }
  })
  router.post(endpoints.verifyPassword.path, jsonBody, async (ctx) => {
    const { password } = parseInput(endpoints.verifyPassword.body, ctx.request.body)
    ctx.body = { valid: await verifyPassword(deps, { userId: memberOf(ctx).userId, password }) }
  })
  return router
}
