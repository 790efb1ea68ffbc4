import { User } from '@gatehouse/domain'
import type { deleteSelfBody } from '@gatehouse/contracts'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { endAccount, type EndingNeeds } from './tombstone/end-account.ts'

type Input = z.infer<typeof deleteSelfBody> & { userId: string; requestId?: string | undefined }

/**
 * Deletes the own account with everything it wrote. The last admin may leave too: only the role is guarded. Throws
 * account_deleted, username_mismatch, password_required, password_incorrect, account_owns_spaces. Spec: DELETE self 1-4.
 */
export async function deleteAccount(deps: EndingNeeds & Pick<Deps, 'hasher'>, input: Input): Promise<void> {
  const proven = await deps.orm.em.fork().findOne(User, { id: input.userId, isDeleted: false })
  if (!proven) throw refuse.account_deleted()
  if (input.username !== proven.username) throw refuse.username_mismatch()
  if (proven.isLocal()) await provePassword(deps, proven, input.password)

  await endAccount(deps, {
    userId: input.userId,
    mode: 'full',
    requestId: input.requestId,
    confirm: (user) => {
      if (!user || user.isDeleted) throw refuse.account_deleted()
      if (user.username !== input.username) throw refuse.username_mismatch()
      if (user.isLocal() && user.passwordHash !== proven.passwordHash) throw refuse.password_incorrect()
      return user
    },
    refuseOwner: (ownedSpaces) => refuse.account_owns_spaces({ fields: { ownedSpaces } }),
  })
}

/** Federated users rely on their token alone. Spec: DELETE self 2. */
async function provePassword({ hasher }: Pick<Deps, 'hasher'>, user: User, password: string | null | undefined) {
  if (!password) throw refuse.password_required()
  if (!(await hasher.verify(password, user.passwordHash))) throw refuse.password_incorrect()
}
