import type { deleteSelfBody } from '@gatehouse/contracts'
import { User } from '@gatehouse/domain'
import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { refuse } from '../../errors.ts'
import { lockUser } from '../../queries/load-user.ts'
import { deleteLockedAccount, finishDeletion, type DeletionDeps } from './delete-locked-account.ts'
import { retryOnDeadlock } from './retry-on-deadlock.ts'

type OwnDeletion = z.infer<typeof deleteSelfBody> & { userId: string; requestId?: string | undefined }

/**
 * Deletes the own account with everything it wrote. The last admin may delete the own account too: only the role is
 * guarded. Throws account_deleted, username_mismatch, password_required, password_incorrect, account_owns_spaces.
 * Spec: DELETE self 1-4.
 */
export async function deleteAccount(
  deps: DeletionDeps & Pick<Deps, 'hasher'>,
  { userId, username, password, requestId }: OwnDeletion,
): Promise<void> {
  const verified = await deps.orm.em.fork().findOne(User, { id: userId, isDeleted: false })
  if (!verified) throw refuse.account_deleted()
  if (username !== verified.username) throw refuse.username_mismatch()
  if (verified.isLocal()) await verifyOwnPassword(deps, verified, password)

  const state = await retryOnDeadlock(deps.orm, async (em) => {
    const user = await lockUser(em, userId)
    if (!user || user.isDeleted) throw refuse.account_deleted()
    if (user.username !== username) throw refuse.username_mismatch()
    if (user.isLocal() && user.passwordHash !== verified.passwordHash) throw refuse.password_incorrect()
    const deletion = await deleteLockedAccount(deps, em, { user, mode: 'full', actor: null, requestId })
    if (deletion.ownedSpaces) throw refuse.account_owns_spaces({ fields: { ownedSpaces: deletion.ownedSpaces } })
    return deletion.state
  })
  await finishDeletion(deps, state)
}

/** Federated users rely on their token alone. Spec: DELETE self 2. */
async function verifyOwnPassword({ hasher }: Pick<Deps, 'hasher'>, user: User, password: string | null | undefined) {
  if (!password) throw refuse.password_required()
  if (!(await hasher.verify(password, user.passwordHash))) throw refuse.password_incorrect()
}
