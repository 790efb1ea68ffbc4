import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { sanitizeUser } from '@gatehouse/domain'
import { callerOf, jsonBody, parseInput, requestIdOf, requireUser, type AppState } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { changePassword } from '../operations/credentials/change-password.ts'
import { endSessions } from '../operations/credentials/end-sessions.ts'
import { verifyPassword } from '../operations/credentials/verify-password.ts'
import { deleteAccount } from '../operations/deletion/delete-account.ts'
import { exportData } from '../operations/export/export-data.ts'
import { patchProfile } from '../operations/profile/patch-profile.ts'
import { loadUser } from '../queries/load-user.ts'
import { issueToken } from '../replies/credentials-reply.ts'

/** Contract: 3, users. */
export function userRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true })
  router.get(endpoints.getSelf.path, async (ctx) => {
    ctx.body = sanitizeUser(await loadUser(deps.orm.em, requireUser(ctx).userId), true)
  })
  router.patch(endpoints.patchSelf.path, jsonBody, async (ctx) => {
    const caller = requireUser(ctx)
    const given: unknown = ctx.request.body
    const changes = parseInput(endpoints.patchSelf.body, given)
    if (Object.keys(given as object).length === 0) throw refuse.no_fields_to_update()
    ctx.body = sanitizeUser(await patchProfile(deps, { caller, changes, requestId: requestIdOf(ctx) }), true)
  })
  router.delete(endpoints.deleteSelf.path, jsonBody, async (ctx) => {
    const caller = requireUser(ctx)
    const input = parseInput(endpoints.deleteSelf.body, ctx.request.body)
    await deleteAccount(deps, { ...input, caller, address: callerOf(ctx).address, requestId: requestIdOf(ctx) })
    ctx.body = { success: true }
  })
  router.post(endpoints.changePassword.path, jsonBody, async (ctx) => {
    const input = parseInput(endpoints.changePassword.body, ctx.request.body)
    const change = { ...input, caller: requireUser(ctx), address: callerOf(ctx).address, requestId: requestIdOf(ctx) }
    const { user, issuedAt } = await changePassword(deps, change)
    ctx.body = { token: issueToken(deps, user, issuedAt) }
  })
  router.post(endpoints.endSessions.path, jsonBody, async (ctx) => {
    const input = parseInput(endpoints.endSessions.body, ctx.request.body)
    const ending = { ...input, caller: requireUser(ctx), address: callerOf(ctx).address, requestId: requestIdOf(ctx) }
    const { user, issuedAt } = await endSessions(deps, ending)
    ctx.body = { token: issueToken(deps, user, issuedAt) }
  })
  router.post(endpoints.exportData.path, jsonBody, async (ctx) => {
    const input = parseInput(endpoints.exportData.body, ctx.request.body)
    const given = { ...input, caller: requireUser(ctx), address: callerOf(ctx).address, requestId: requestIdOf(ctx) }
    const { archive, username } = await exportData(deps, given)
    ctx.attachment(`${username}.zip`)
    ctx.type = 'application/zip'
    ctx.body = archive
  })
  router.post(endpoints.verifyPassword.path, jsonBody, async (ctx) => {
    const { password } = parseInput(endpoints.verifyPassword.body, ctx.request.body)
    const attempt = { caller: requireUser(ctx), password, address: callerOf(ctx).address }
    ctx.body = { valid: await verifyPassword(deps, attempt) }
  })
  router.get(endpoints.getUser.path, async (ctx) => {
    const { userId } = requireUser(ctx)
    const { id } = parseInput(endpoints.getUser.params, ctx.params)
    ctx.body = sanitizeUser(await loadUser(deps.orm.em, id), id === userId)
  })
  return router
}
