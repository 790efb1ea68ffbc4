import type { deleteIdentityBody } from '@gatehouse/contracts'
import { refuse } from '@gatehouse/runtime'
import type { z } from 'zod'
import { findIdentity } from '../../queries/load-user.ts'
import { changeUser } from '../change-account.ts'
import { deleteLockedAccount, finishDeletion, type DeletionDeps } from '../deletion/delete-account.ts'
import { askBeforeDeletion, type Blocked } from '../deletion/upstream-deletions.ts'

type IdentityDeletion = z.infer<typeof deleteIdentityBody> & { requestId?: string | undefined }

const blocked: Blocked = (ownedSpaces) => refuse.owns_spaces({ fields: { ownedSpaces } })

/** Every live row: the stub and the account. Throws owns_spaces, upstream_unavailable. Contract: 7, identity. */
export async function deleteFederatedIdentity(deps: DeletionDeps, deletion: IdentityDeletion) {
  const { mode, requestId, ...identity } = deletion
  let isDeleted = false
  // Imported data may have more than one.
  for (;;) {
    const identityOwner = await findIdentity(deps.orm.em.fork(), identity)
    if (!identityOwner || identityOwner.isDeleted) return isDeleted ? ('deleted' as const) : ('absent' as const)
    const audience = await askBeforeDeletion(deps, identityOwner, blocked)
    const state = await changeUser(deps, identityOwner.id, async (user, em) => {
      // A detached account has no home that decides over it.
      if (!user || user.isDeleted || user.isLocal()) return null
      return await deleteLockedAccount(deps, em, { user, mode, actor: null, requestId, audience, blocked })
    })
    if (!state) continue
    await finishDeletion(deps, state)
    isDeleted = true
  }
}
