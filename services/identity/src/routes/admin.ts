import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { adminView } from '@gatehouse/domain'
import { answer, callerOf, requestIdOf, requireAdmin, type AppState } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { patchSettings } from '../operations/administration/patch-settings.ts'
import { createRecoveryLink, resetPassword } from '../operations/administration/reset-password.ts'
import { setRole } from '../operations/administration/set-role.ts'
import { suspendUser, unsuspendUser } from '../operations/administration/suspend-user.ts'
import {
  approveRegistration,
  decideRegistrations,
  denyRegistration,
  restoreRegistration,
} from '../operations/approval/decide-registration.ts'
import { endUserSessions } from '../operations/credentials/end-sessions.ts'
import { deleteUser } from '../operations/deletion/delete-account.ts'
import { listUpstreamDeletions } from '../operations/deletion/upstream-deletions.ts'
import { removeSecondFactor } from '../operations/second-factor/end.ts'
import { describeUser } from '../queries/describe-user.ts'
import { listAudit } from '../queries/list-audit.ts'
import { listOpenOrders } from '../queries/list-orders.ts'
import { listRegistrations } from '../queries/list-registrations.ts'
import { listUserInstances, listUsers } from '../queries/list-users.ts'
import { loadSettings } from '../queries/load-settings.ts'
import { overview } from '../queries/overview.ts'
import { settingsReply } from '../replies/replies.ts'

type Context = { state: AppState }

const actOf = (ctx: Context) => ({
  actor: requireAdmin(ctx),
  address: callerOf(ctx).address,
  requestId: requestIdOf(ctx),
})

/** An act on the account that the path names. */
const adminActOn = <Input extends { id: string }>(input: Input, ctx: Context) => ({
  ...input,
  userId: input.id,
  ...actOf(ctx),
})

/** The routes of admins. Contract: 5, as a whole. */
export function adminRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true })
  const read = () => deps.orm.em.fork()
  answer(router, endpoints.listUsers, async (query) => {
    const { users, ...rest } = await listUsers(read(), query)
    const { page, pageSize } = query
    return { users: users.map(adminView), ...rest, page, pageSize }
  })
  answer(router, endpoints.listUserInstances, async () => ({ instances: await listUserInstances(read()) }))
  answer(router, endpoints.describeUser, (input, ctx) => describeUser(deps, adminActOn(input, ctx)))
  answer(router, endpoints.setRole, async (input, ctx) => adminView(await setRole(deps, adminActOn(input, ctx))))
  answer(router, endpoints.resetPassword, (input, ctx) => resetPassword(deps, adminActOn(input, ctx)))
  answer(router, endpoints.createRecoveryLink, (input, ctx) => createRecoveryLink(deps, adminActOn(input, ctx)))
  answer(router, endpoints.suspendUser, async (input, ctx) =>
    adminView(await suspendUser(deps, adminActOn(input, ctx))),
  )
  answer(router, endpoints.unsuspendUser, async (input, ctx) =>
    adminView(await unsuspendUser(deps, adminActOn(input, ctx))),
  )
  answer(router, endpoints.endUserSessions, (input, ctx) => endUserSessions(deps, adminActOn(input, ctx)))
  answer(router, endpoints.deleteUser, (input, ctx) => deleteUser(deps, adminActOn(input, ctx)))
  answer(router, endpoints.removeSecondFactor, (input, ctx) => removeSecondFactor(deps, adminActOn(input, ctx)))
  answer(router, endpoints.overview, () => overview(deps))
  answer(router, endpoints.listAudit, (query) => listAudit(read(), query))
  answer(router, endpoints.listOpenOrders, (query) => listOpenOrders(read(), query))
  answer(router, endpoints.listUpstreamDeletions, (query) => listUpstreamDeletions(deps, query))
  answer(router, endpoints.listRegistrations, (query) => listRegistrations(deps, query))
  answer(router, endpoints.approveRegistration, (input, ctx) => approveRegistration(deps, { ...input, ...actOf(ctx) }))
  answer(router, endpoints.denyRegistration, (input, ctx) => denyRegistration(deps, { ...input, ...actOf(ctx) }))
  answer(router, endpoints.restoreRegistration, (input, ctx) => restoreRegistration(deps, { ...input, ...actOf(ctx) }))
  answer(router, endpoints.decideRegistrations, (input, ctx) => decideRegistrations(deps, { ...input, ...actOf(ctx) }))
  answer(router, endpoints.getSettings, async () => settingsReply(await loadSettings(deps.orm.em)))
  answer(router, endpoints.patchSettings, async (changes, ctx) => {
    return settingsReply(await patchSettings(deps, { changes, ...actOf(ctx) }))
  })
  return router
}
