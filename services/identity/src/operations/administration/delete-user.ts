import { recordAudit, type Actor } from '@gatehouse/domain'
import { refuse } from '../../errors.ts'
import { lockUser } from '../../queries/load-user.ts'
import { deleteLockedAccount, finishDeletion, type DeletionDeps } from '../deletion/delete-locked-account.ts'
import { retryOnDeadlock } from '../deletion/retry-on-deadlock.ts'

/**
 * An admin deletes an account, by the rules for one's own but for the password. Throws user_unknown, target_deleted,
 * account_owns_spaces. Contract: 5.
 */
export async function deleteUser(
  deps: DeletionDeps,
  { userId, actor, requestId }: { userId: string; actor: Actor; requestId?: string | undefined },
): Promise<void> {
  const state = await retryOnDeadlock(deps.orm, async (em) => {
    const user = await lockUser(em, userId)
    if (!user) throw refuse.user_unknown()
    if (user.isDeleted) throw refuse.target_deleted()
    const deletion = await deleteLockedAccount(deps, em, { user, mode: 'full', actor, requestId })
    if (deletion.ownedSpaces) throw refuse.account_owns_spaces({ fields: { ownedSpaces: deletion.ownedSpaces } })
    const at = new Date(deps.clock.now())
    recordAudit(em, { action: 'user.deleted', actor, target: { type: 'user', id: userId }, at })
    return deletion.state
  })
  await finishDeletion(deps, state)
}
