import type { deleteIdentityBody } from '@gatehouse/contracts'
import { refuse } from '@gatehouse/runtime'
import type { z } from 'zod'
import { findIdentity } from '../../queries/find-federated-user.ts'
import { changeUser } from '../change-account.ts'
import { askBeforeDeletion, type OwnedSpace } from '../deletion/ask-upstreams.ts'
import { deleteLockedAccount, finishDeletion, type DeletionDeps } from '../deletion/delete-locked-account.ts'

type IdentityDeletion = z.infer<typeof deleteIdentityBody> & { requestId?: string | undefined }

/** Every live row: the stub and the account. Throws owns_spaces, upstream_unavailable. Contract: 7, identity. */
export async function deleteFederatedIdentity(
  deps: DeletionDeps,
  { mode, requestId, ...identity }: IdentityDeletion,
): Promise<'deleted' | 'absent'> {
  let isDeleted = false
  // Imported data may have more than one.
  for (;;) {
    const found = await findIdentity(deps.orm.em.fork(), identity)
    if (!found || found.isDeleted) return isDeleted ? 'deleted' : 'absent'
    isDeleted = (await deleteFound(deps, found.id, { mode, requestId })) || isDeleted
  }
}

type Deletion = Pick<IdentityDeletion, 'mode' | 'requestId'>

async function deleteFound(deps: DeletionDeps, id: string, { mode, requestId }: Deletion): Promise<boolean> {
  const blocked = (ownedSpaces: OwnedSpace[]) => refuse.owns_spaces({ fields: { ownedSpaces } })
  const asked = await askBeforeDeletion(deps, id, blocked)
  const state = await changeUser(deps, id, async (user, em) => {
    // A detached account has no home that decides over it.
    if (!user || user.isDeleted || user.isLocal()) return null
    return await deleteLockedAccount(deps, em, { user, mode, actor: null, requestId, asked, blocked })
  })
  if (!state) return false
  await finishDeletion(deps, state)
  return true
}
