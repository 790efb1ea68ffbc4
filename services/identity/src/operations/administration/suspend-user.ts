import { userSuspended, userUnsuspended, type AccountState } from '@gatehouse/contracts'
import { transaction } from '@gatehouse/database'
import { assertCallerCurrent, type ActingAdmin, type User } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps, OperationContext } from '../../deps.ts'
import { lockLocalAdmins, lockUser, requireLive } from '../../queries/load-user.ts'
import { recordAccountEvent, changeOther, enterAct } from '../change-account.ts'

type SuspensionDeps = OperationContext & Pick<Deps, 'afterCommit'>
type Change = { userId: string; actor: ActingAdmin; requestId?: string | undefined }
type Changed = { user: User; state?: AccountState }

/**
 * Revokes all tokens of a local account and closes its sockets. The same suspension again changes nothing. Throws user_unknown,
 * target_deleted, suspension_of_home, own_suspension, last_admin_suspended, and as `assertCallerCurrent` does. Contract: 5, suspend.
 */
export async function suspendUser(
  deps: SuspensionDeps,
  { userId, reason, actor, requestId }: Change & { reason: string | null },
): Promise<User> {
  if (userId === actor.userId) throw refuse.own_suspension()
  const suspension = async (em: EntityManager): Promise<Changed> => {
    // Admins who suspend each other wait here, and then find their tokens revoked.
    const admins = await lockLocalAdmins(em)
    await assertCallerCurrent(em, actor, { admin: true })
    const user = requireLive(await lockUser(em, userId))
    if (!user.isLocal()) throw refuse.suspension_of_home()
    if (user.suspendedAt != null && user.suspendedReason === reason) return { user }
    if (user.isAdmin && !admins.some(({ id }) => id !== userId)) throw refuse.last_admin_suspended()
    const at = user.suspend(reason, await deps.databaseTime(em))
    enterAct(em, { action: 'user.suspended', user, actor, detail: { reason }, at: deps.clock.now() })
    return { user, state: await recordAccountEvent(em, deps, userSuspended, { user, at, actor, reason, requestId }) }
  }
  return await told(deps, await transaction(deps.orm, suspension, { accountId: userId }))
}

/** No token comes back. Throws user_unknown, target_deleted, and as `assertCallerCurrent` does. Contract: 5, suspend. */
export async function unsuspendUser(deps: SuspensionDeps, { userId, actor, requestId }: Change): Promise<User> {
  const end = async (user: User, em: EntityManager): Promise<Changed> => {
    if (user.suspendedAt == null) return { user }
    user.unsuspend()
    const at = deps.clock.now()
    enterAct(em, { action: 'user.unsuspended', user, actor, at })
    return { user, state: await recordAccountEvent(em, deps, userUnsuspended, { user, at, actor, requestId }) }
  }
  return await told(deps, await changeOther(deps, { userId, actor }, end))
}

async function told({ afterCommit }: SuspensionDeps, { user, state }: Changed): Promise<User> {
  if (state) await afterCommit.invalidateCache(state)
  return user
}
