import type { deleteSelfBody } from '@gatehouse/contracts'
import type { ActingCaller } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { loadCaller } from '../../queries/load-user.ts'
import { changeSelf } from '../change-account.ts'
import { verifyOwnPassword } from '../credentials/verify-password.ts'
import { deleteLockedAccount, finishDeletion, type DeletionDeps } from './delete-locked-account.ts'

type OwnDeletion = z.infer<typeof deleteSelfBody> & {
  caller: ActingCaller
  address: string
  requestId?: string | undefined
}

const wrong = 'account_deletion_password_incorrect'

/**
 * The last admin may delete the own account too: only the role is guarded. Throws account_deleted, token_revoked,
 * username_confirmation_mismatch, password_required, account_deletion_password_incorrect,
 * account_deletion_blocked_owned_spaces, hashing_busy. Spec: DELETE self 1-4.
 */
export async function deleteAccount(
  deps: DeletionDeps & Pick<Deps, 'hasher'>,
  { caller, username, password, address, requestId }: OwnDeletion,
): Promise<void> {
  const verified = await loadCaller(deps, caller)
  if (username !== verified.username) throw refuse.username_confirmation_mismatch()
  await verifyOwnPassword(deps, verified, { password, address, wrong })
  const state = await changeSelf(deps, caller, async (user, em) => {
    if (user.username !== username) throw refuse.username_confirmation_mismatch()
    if (user.isLocal() && user.passwordHash !== verified.passwordHash) throw refuse[wrong]()
    return await deleteLockedAccount(deps, em, { user, mode: 'full', actor: null, requestId })
  })
  await finishDeletion(deps, state)
}
