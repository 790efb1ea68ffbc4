import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { findPage } from '@gatehouse/database'
import { adminView, DeletionOrder } from '@gatehouse/domain'
import { answer, callerOf, requestIdOf, requireAdmin, type AppState } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { deleteUser } from '../operations/deletion/delete-account.ts'
import { listUpstreamDeletions } from '../operations/deletion/upstream-deletions.ts'
import { patchSettings } from '../operations/administration/patch-settings.ts'
import { createRecoveryLink, resetPassword } from '../operations/administration/reset-password.ts'
import { setRole } from '../operations/administration/set-role.ts'
import { suspendUser, unsuspendUser } from '../operations/administration/suspend-user.ts'
import { orderReply } from '../operations/federation/deletion-orders.ts'
import { endUserSessions } from '../operations/credentials/end-sessions.ts'
import { removeSecondFactor } from '../operations/second-factor/end.ts'
import { describeUser } from '../queries/describe-user.ts'
import { auditReply, listAudit } from '../queries/list-audit.ts'
import { listUserInstances, listUsers } from '../queries/list-users.ts'
import { loadSettings } from '../queries/load-settings.ts'
import { overview } from '../queries/overview.ts'
import { settingsReply } from '../replies/instance-replies.ts'

/** Contract: 5. */
export function adminRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true })
  addUserRoutes(router, deps)
  answer(router, endpoints.overview, () => overview(deps))
  answer(router, endpoints.listAudit, async (query) => {
    const { rows, nextCursor } = await listAudit(deps.orm.em.fork(), query)
    return { entries: rows.map(auditReply), nextCursor }
  })
  answer(router, endpoints.listOpenOrders, async (query) => {
    const where = { state: { $in: ['waiting' as const, 'overdue' as const] } }
    const { rows, nextCursor } = await findPage(deps.orm.em.fork(), DeletionOrder, { ...query, where })
    return {
      orders: rows.map((order) => ({ ...orderReply(order), id: order.id, userId: order.userId })),
      nextCursor,
    }
  })
  answer(router, endpoints.listUpstreamDeletions, (query) => listUpstreamDeletions(deps, query))
  answer(router, endpoints.getSettings, async () => settingsReply(await loadSettings(deps.orm.em)))
  answer(router, endpoints.patchSettings, async (changes, ctx) => {
    return settingsReply(await patchSettings(deps, { changes, ...actOf(ctx) }))
  })
  return router
}

const actOf = (ctx: { state: AppState }) => ({
  actor: requireAdmin(ctx),
  address: callerOf(ctx).address,
  requestId: requestIdOf(ctx),
})

function addUserRoutes(router: Router<AppState>, deps: Deps): void {
  answer(router, endpoints.listUsers, async (query) => {
    const { users, ...rest } = await listUsers(deps.orm.em.fork(), query)
    const { page, pageSize } = query
    return { users: users.map(adminView), ...rest, page, pageSize }
  })
  answer(router, endpoints.listUserInstances, async () => ({ instances: await listUserInstances(deps.orm.em.fork()) }))
  answer(router, endpoints.describeUser, ({ id: userId }, ctx) => describeUser(deps, { userId, ...actOf(ctx) }))
  answer(router, endpoints.setRole, async ({ id: userId, isAdmin }, ctx) =>
    adminView(await setRole(deps, { userId, isAdmin, ...actOf(ctx) })),
  )
  answer(router, endpoints.resetPassword, async ({ id: userId }, ctx) => ({
    temporaryPassword: await resetPassword(deps, { userId, ...actOf(ctx) }),
  }))
  answer(router, endpoints.createRecoveryLink, ({ id: userId }, ctx) =>
    createRecoveryLink(deps, { userId, ...actOf(ctx) }),
  )
  answer(router, endpoints.suspendUser, async ({ id: userId, reason = null }, ctx) => {
    return adminView(await suspendUser(deps, { userId, reason, ...actOf(ctx) }))
  })
  answer(router, endpoints.unsuspendUser, async ({ id: userId }, ctx) =>
    adminView(await unsuspendUser(deps, { userId, ...actOf(ctx) })),
  )
  answer(router, endpoints.endUserSessions, ({ id: userId }, ctx) => endUserSessions(deps, { userId, ...actOf(ctx) }))
  answer(router, endpoints.deleteUser, ({ id: userId }, ctx) => deleteUser(deps, { userId, ...actOf(ctx) }))
  answer(router, endpoints.removeSecondFactor, ({ id: userId }, ctx) =>
    removeSecondFactor(deps, { userId, ...actOf(ctx) }),
  )
}
