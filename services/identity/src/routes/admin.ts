import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { sanitizeUser } from '@gatehouse/domain'
import { adminOf, jsonBody, parseInput, requestIdOf } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { deleteUser } from '../operations/delete-user.ts'
import { resetPassword } from '../operations/reset-password.ts'
import { setRole } from '../operations/set-role.ts'
import { listAudit } from '../queries/list-audit.ts'
import { listUsers } from '../queries/list-users.ts'
import { auditReply } from '../replies/audit-reply.ts'

/** Contract: 5. */
export function adminRoutes(deps: Deps): Router {
  const router = new Router()
  router.get(endpoints.listUsers.path, async (ctx) => {
    adminOf(ctx)
    const query = parseInput(endpoints.listUsers.query, ctx.query)
    const { users, total } = await listUsers(deps.orm.em.fork(), query)
    const { page, pageSize } = query
    ctx.body = { users: users.map((user) => sanitizeUser(user, false)), total, page, pageSize }
  })
  router.patch(endpoints.setRole.path, jsonBody, async (ctx) => {
    const actor = adminOf(ctx)
    const { id: userId } = parseInput(endpoints.setRole.params, ctx.params)
    const { isAdmin } = parseInput(endpoints.setRole.body, ctx.request.body)
    ctx.body = sanitizeUser(await setRole(deps, { userId, isAdmin, actor, requestId: requestIdOf(ctx) }), false)
  })
  router.post(endpoints.resetPassword.path, async (ctx) => {
    const actor = adminOf(ctx)
    const { id: userId } = parseInput(endpoints.resetPassword.params, ctx.params)
    ctx.body = { temporaryPassword: await resetPassword(deps, { userId, actor, requestId: requestIdOf(ctx) }) }
  })
  router.delete(endpoints.deleteUser.path, async (ctx) => {
    const actor = adminOf(ctx)
    const { id: userId } = parseInput(endpoints.deleteUser.params, ctx.params)
    await deleteUser(deps, { userId, actor, requestId: requestIdOf(ctx) })
    ctx.body = { success: true }
  })
  router.get(endpoints.listAudit.path, async (ctx) => {
    adminOf(ctx)
    const query = parseInput(endpoints.listAudit.query, ctx.query)
    const { entries, nextCursor } = await listAudit(deps.orm.em.fork(), query)
    ctx.body = { entries: entries.map(auditReply), nextCursor }
  })
  return router
}
