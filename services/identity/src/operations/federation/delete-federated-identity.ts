import type { deleteIdentityBody } from '@gatehouse/contracts'
import { refuse } from '@gatehouse/runtime'
import type { z } from 'zod'
import { findIdentity } from '../../queries/find-federated-user.ts'
import { changeUser } from '../change-account.ts'
import { deleteLockedAccount, finishDeletion, type DeletionDeps } from '../deletion/delete-locked-account.ts'

type IdentityDeletion = z.infer<typeof deleteIdentityBody> & { requestId?: string | undefined }

/** Throws owns_spaces. Contract: 7, identity. */
export async function deleteFederatedIdentity(
  deps: DeletionDeps,
  { mode, requestId, ...identity }: IdentityDeletion,
): Promise<'deleted' | 'absent'> {
  const found = await findIdentity(deps.orm.em.fork(), identity)
  if (!found || found.isDeleted) return 'absent'
  const blocked = (ownedSpaces: { id: string; name: string }[]) => refuse.owns_spaces({ fields: { ownedSpaces } })
  const state = await changeUser(deps, found.id, async (user, em) => {
    // A detached account has no home that decides over it.
    if (!user || user.isDeleted || user.isLocal()) return null
    return await deleteLockedAccount(deps, em, { user, mode, actor: null, requestId, blocked })
  })
  if (!state) return 'absent'
  await finishDeletion(deps, state)
  return 'deleted'
}
