import { roleChanged } from '@gatehouse/contracts'
import { transaction } from '@gatehouse/database'
import { assertCallerCurrent, type ActingAdmin, type User } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { Deps, OperationContext } from '../../deps.ts'
import { lockLocalAdmins, lockUser, requireLive } from '../../queries/load-user.ts'
import { recordAccountEvent, enterAct } from '../change-account.ts'
import { readDemand } from '../second-factor/demand-of-admins.ts'

type RoleChange = { userId: string; isAdmin: boolean; actor: ActingAdmin; requestId?: string | undefined }

/**
 * Throws user_unknown, target_deleted, target_is_stub, federated_admin, last_admin, and as `assertCallerCurrent` does.
 * Contract: 5, role.
 */
export async function setRole(
  deps: OperationContext & Pick<Deps, 'afterCommit'>,
  { userId, isAdmin, actor, requestId }: RoleChange,
): Promise<User> {
  const { user, state } = await transaction(deps.orm, async (em) => {
    const admins = await lockLocalAdmins(em)
    await assertCallerCurrent(em, actor, { admin: true })
    const target = requireLive(await lockUser(em, userId))
    // A stub cannot log in: as the only admin it would leave the instance without one.
    if (target.isStub()) throw refuse.target_is_stub()
    if (target.isAdmin === isAdmin) return { user: target }
    if (isAdmin && !target.isLocal()) throw refuse.federated_admin()
    if (!isAdmin && !admins.some(({ id }) => id !== userId)) throw refuse.last_admin()
    target.setRole(isAdmin, await readDemand(em))
    const at = deps.clock.now()
    const action = isAdmin ? 'user.promoted' : 'user.demoted'
    enterAct(em, { action, user: target, actor, at })
    const facts = { user: target, at, actor, isAdmin, requestId }
    return { user: target, state: await recordAccountEvent(em, deps, roleChanged, facts) }
  })
  if (state) await deps.afterCommit.invalidateCache(state)
  return user
}
