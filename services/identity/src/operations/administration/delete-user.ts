import { runTransaction } from '@gatehouse/database'
import { User, assertCallerCurrent, assertCurrent, recordAudit, type ActingAdmin } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import { refuse } from '@gatehouse/runtime'
import { lockLocalAdmins } from '../../queries/lock-local-admins.ts'
import { lockUser } from '../../queries/load-user.ts'
import { deleteLockedAccount, finishDeletion, type DeletionDeps } from '../deletion/delete-locked-account.ts'

/**
 * An admin deletes another account, by the rules for one's own but for the password. Throws own_account, user_unknown,
 * target_deleted, account_deletion_blocked_owned_spaces, last_admin_deleted, and as `assertCallerCurrent` does. Contract: 5.
 */
export async function deleteUser(
  deps: DeletionDeps,
  { userId, actor, requestId }: { userId: string; actor: ActingAdmin; requestId?: string | undefined },
): Promise<void> {
  if (userId === actor.userId) throw refuse.own_account()
  const deletion = async (em: EntityManager) => {
    const target = await em.findOne(User, { id: userId })
    // First and in one order: admins who delete each other wait, and then find themselves deleted.
    if (target?.isAdmin) await lockLocalAdmins(em)
    if (actor.userId !== null) assertCurrent(await em.findOne(User, { id: actor.userId }), actor, { admin: true })
    const user = requireDeletable(await lockUser(em, userId))
    const wasAdmin = user.isAdmin
    const deleted = await deleteLockedAccount(deps, em, { user, mode: 'full', actor, requestId })
    if (deleted.ownedSpaces)
      throw refuse.account_deletion_blocked_owned_spaces({ fields: { ownedSpaces: deleted.ownedSpaces } })
    const at = new Date(deps.clock.now())
    recordAudit(em, { action: 'user.deleted', actor, target: { type: 'user', id: userId }, at })
    await em.flush()
    if (wasAdmin && (await lockLocalAdmins(em)).length === 0) throw refuse.last_admin_deleted()
    // Last, because a deletion may take long: a change of the actor's password waits for this lock.
    await assertCallerCurrent(em, actor, { admin: true })
    return deleted.state
  }
  const state = await runTransaction(deps.orm, deletion, { accountId: userId })
  await finishDeletion(deps, state)
}

function requireDeletable(user: User | null): User {
  if (!user) throw refuse.user_unknown()
  if (user.isDeleted) throw refuse.target_deleted()
  return user
}
