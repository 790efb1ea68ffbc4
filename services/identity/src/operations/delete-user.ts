import { recordAudit } from '@gatehouse/domain'
import { refuse } from '../errors.ts'
import { endAccount, type EndingNeeds } from './tombstone/end-account.ts'

type Input = { userId: string; actor: { userId: string; username: string }; requestId?: string | undefined }

/**
 * An admin deletes an account; the same rules as for one's own, but for the password. Throws user_unknown,
 * target_deleted, account_owns_spaces. Contract: 5.
 */
export async function deleteUser(deps: EndingNeeds, { userId, actor, requestId }: Input): Promise<void> {
  await endAccount(deps, {
    userId,
    mode: 'full',
    requestId,
    confirm: (user, em) => {
      if (!user) throw refuse.user_unknown()
      if (user.isDeleted) throw refuse.target_deleted()
      const at = new Date(deps.clock.now())
      recordAudit(em, { action: 'user.deleted', actor, target: { type: 'user', id: userId }, at })
      return user
    },
    refuseOwner: (ownedSpaces) => refuse.account_owns_spaces({ fields: { ownedSpaces } }),
  })
}
