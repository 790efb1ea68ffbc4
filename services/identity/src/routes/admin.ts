import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { findPage } from '@gatehouse/database'
import { AuditEntry, sanitizeUser } from '@gatehouse/domain'
import {
  adminsOnly,
  callerOf,
  jsonBody,
  parseInput,
  requestIdOf,
  requireAdmin,
  type AppState,
} from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { deleteUser } from '../operations/administration/delete-user.ts'
import { patchSettings } from '../operations/administration/patch-settings.ts'
import { resetPassword } from '../operations/administration/reset-password.ts'
import { setRole } from '../operations/administration/set-role.ts'
import { listUserInstances, listUsers } from '../queries/list-users.ts'
import { loadSettings } from '../queries/load-settings.ts'
import { auditReply } from '../replies/audit-reply.ts'
import { settingsReply } from '../replies/instance-replies.ts'

/** Contract: 5. */
export function adminRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true })
  router.use(adminsOnly)
  addUserRoutes(router, deps)
  router.get(endpoints.listAudit.path, async (ctx) => {
    const query = parseInput(endpoints.listAudit.query, ctx.query)
    const { rows, nextCursor } = await findPage(deps.orm.em.fork(), AuditEntry, query)
    ctx.body = { entries: rows.map(auditReply), nextCursor }
  })
  router.get(endpoints.getSettings.path, async (ctx) => {
    ctx.body = settingsReply(await loadSettings(deps.orm.em))
  })
  router.patch(endpoints.patchSettings.path, jsonBody, async (ctx) => {
    const changes = parseInput(endpoints.patchSettings.body, ctx.request.body)
    const requestId = requestIdOf(ctx)
    ctx.body = settingsReply(await patchSettings(deps, { changes, actor: requireAdmin(ctx), requestId }))
  })
  return router
}

function addUserRoutes(router: Router<AppState>, deps: Deps): void {
  router.get(endpoints.listUsers.path, async (ctx) => {
    const query = parseInput(endpoints.listUsers.query, ctx.query)
    const { users, ...rest } = await listUsers(deps.orm.em.fork(), query)
    const { page, pageSize } = query
    ctx.body = { users: users.map((user) => sanitizeUser(user, false)), ...rest, page, pageSize }
  })
  router.get(endpoints.listUserInstances.path, async (ctx) => {
    ctx.body = { instances: await listUserInstances(deps.orm.em.fork()) }
  })
  router.patch(endpoints.setRole.path, jsonBody, async (ctx) => {
    const { id: userId } = parseInput(endpoints.setRole.params, ctx.params)
    const { isAdmin } = parseInput(endpoints.setRole.body, ctx.request.body)
    const change = { userId, isAdmin, actor: requireAdmin(ctx), requestId: requestIdOf(ctx) }
    ctx.body = sanitizeUser(await setRole(deps, change), false)
  })
  router.post(endpoints.resetPassword.path, async (ctx) => {
    const { id: userId } = parseInput(endpoints.resetPassword.params, ctx.params)
    const reset = { userId, actor: requireAdmin(ctx), address: callerOf(ctx).address, requestId: requestIdOf(ctx) }
    ctx.body = { temporaryPassword: await resetPassword(deps, reset) }
  })
  router.delete(endpoints.deleteUser.path, async (ctx) => {
    const { id: userId } = parseInput(endpoints.deleteUser.params, ctx.params)
    await deleteUser(deps, { userId, actor: requireAdmin(ctx), requestId: requestIdOf(ctx) })
    ctx.body = { success: true }
  })
}
