import { transaction } from '@gatehouse/database'
import { User, assertCallerCurrent, assertCurrent, recordAudit, type ActingAdmin } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import { lockLocalAdmins, lockUser, requireLive } from '../../queries/load-user.ts'
import { deleteLockedAccount, finishDeletion, type DeletionDeps } from '../deletion/delete-locked-account.ts'

/**
 * An admin deletes another account. Throws own_account, user_unknown, target_deleted, last_admin_deleted,
 * account_deletion_blocked_owned_spaces, and as `assertCallerCurrent` does. Contract: 5.
 */
export async function deleteUser(
  deps: DeletionDeps,
  { userId, actor, requestId }: { userId: string; actor: ActingAdmin; requestId?: string | undefined },
): Promise<void> {
  if (userId === actor.userId) throw refuse.own_account()
  const deletion = async (em: EntityManager) => {
    const target = await em.findOne(User, { id: userId })
    // Admins who delete each other wait here, and then find themselves deleted.
    if (target?.isAdmin) await lockLocalAdmins(em)
    if (actor.userId !== null) assertCurrent(await em.findOne(User, { id: actor.userId }), actor, { admin: true })
    const user = requireLive(await lockUser(em, userId))
    const wasAdmin = user.isAdmin
    const state = await deleteLockedAccount(deps, em, { user, mode: 'full', actor, requestId })
    const at = new Date(deps.clock.now())
    recordAudit(em, { action: 'user.deleted', actor, target: { type: 'user', id: userId }, at })
    await em.flush()
    if (wasAdmin && (await lockLocalAdmins(em)).length === 0) throw refuse.last_admin_deleted()
    // A change of the actor's password waits for this lock. A deletion may take long.
    await assertCallerCurrent(em, actor, { admin: true })
    return state
  }
  await finishDeletion(deps, await transaction(deps.orm, deletion, { accountId: userId }))
}
