import type { deleteSelfBody } from '@gatehouse/contracts'
import { runTransaction } from '@gatehouse/database'
import { User, assertCurrent, type ActingCaller } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { lockUser } from '../../queries/load-user.ts'
import { verifyOwnPassword } from '../credentials/verify-own-password.ts'
import { deleteLockedAccount, finishDeletion, type DeletionDeps } from './delete-locked-account.ts'

type OwnDeletion = z.infer<typeof deleteSelfBody> & {
  caller: ActingCaller
  address: string
  requestId?: string | undefined
}

const wrong = 'account_deletion_password_incorrect'

/**
 * Deletes the own account with everything it wrote. The last admin may delete the own account too: only the role is
 * guarded. Throws account_deleted, token_revoked, username_confirmation_mismatch, password_required,
 * account_deletion_password_incorrect,
 * account_deletion_blocked_owned_spaces, hashing_busy. Spec: DELETE self 1-4.
 */
export async function deleteAccount(
  deps: DeletionDeps & Pick<Deps, 'hasher'>,
  { caller, username, password, address, requestId }: OwnDeletion,
): Promise<void> {
  const { userId } = caller
  const verified = await deps.orm.em.fork().findOne(User, { id: userId })
  assertCurrent(verified, caller)
  if (username !== verified.username) throw refuse.username_confirmation_mismatch()
  if (verified.isLocal()) await verifyOwnPassword(deps, verified, { password, address, wrong })

  const deletion = async (em: EntityManager) => {
    const user = await lockUser(em, userId)
    assertCurrent(user, caller)
    if (user.username !== username) throw refuse.username_confirmation_mismatch()
    if (user.isLocal() && user.passwordHash !== verified.passwordHash) throw refuse[wrong]()
    const deleted = await deleteLockedAccount(deps, em, { user, mode: 'full', actor: null, requestId })
    if (deleted.ownedSpaces)
      throw refuse.account_deletion_blocked_owned_spaces({ fields: { ownedSpaces: deleted.ownedSpaces } })
    return deleted.state
  }
  const state = await runTransaction(deps.orm, deletion, { accountId: userId })
  await finishDeletion(deps, state)
}
