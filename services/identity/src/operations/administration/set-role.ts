import { roleChanged } from '@gatehouse/contracts'
import { runTransaction } from '@gatehouse/database'
import { accountStateOf, assertCallerCurrent, recordAudit, type ActingAdmin, type User } from '@gatehouse/domain'
import type { Deps, OperationContext } from '../../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { lockLocalAdmins } from '../../queries/lock-local-admins.ts'
import { lockUser } from '../../queries/load-user.ts'
import { recordAccountEvent } from '../account-events.ts'

type RoleChange = { userId: string; isAdmin: boolean; actor: ActingAdmin; requestId?: string | undefined }

/**
 * Makes an account an admin or no longer one; a role that it has already changes nothing. Throws user_unknown,
 * target_deleted, target_is_stub, federated_admin, last_admin, and as `assertCallerCurrent` does. Contract: 5, role.
 */
export async function setRole(
  deps: OperationContext & Pick<Deps, 'afterCommit'>,
  { userId, isAdmin, actor, requestId }: RoleChange,
): Promise<User> {
  const { user, changed } = await runTransaction(deps.orm, async (em) => {
    const admins = await lockLocalAdmins(em)
    await assertCallerCurrent(em, actor, { admin: true })
    const target = requireChangeable(await lockUser(em, userId))
    if (target.isAdmin === isAdmin) return { user: target, changed: false }
    if (isAdmin && !target.isLocal()) throw refuse.federated_admin()
    if (!isAdmin && !admins.some(({ id }) => id !== userId)) throw refuse.last_admin()
    target.setRole(isAdmin)
    const now = deps.clock.now()
    const action = isAdmin ? 'user.promoted' : 'user.demoted'
    recordAudit(em, { action, actor, target: { type: 'user', id: userId }, at: new Date(now) })
    await em.flush()
    const facts = { state: accountStateOf(target), at: now, actor, isAdmin, requestId }
    await recordAccountEvent(em, deps, roleChanged, facts)
    return { user: target, changed: true }
  })
  if (changed) await deps.afterCommit.invalidateCache(accountStateOf(user))
  return user
}

/** A stub cannot log in: as the only admin it would leave the instance without one. */
function requireChangeable(user: User | null): User {
  if (!user) throw refuse.user_unknown()
  if (user.isDeleted) throw refuse.target_deleted()
  if (user.isStub()) throw refuse.target_is_stub()
  return user
}
