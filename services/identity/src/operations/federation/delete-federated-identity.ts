import type { deleteIdentityBody } from '@gatehouse/contracts'
import { runTransaction } from '@gatehouse/database'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import { refuse } from '@gatehouse/runtime'
import { findIdentity } from '../../queries/find-federated-user.ts'
import { lockUser } from '../../queries/load-user.ts'
import { deleteLockedAccount, finishDeletion, type DeletionDeps } from '../deletion/delete-locked-account.ts'

type IdentityDeletion = z.infer<typeof deleteIdentityBody> & { requestId?: string | undefined }

/**
 * Deletes the local account of a remote user at the request of the home instance; `absent` when no live one exists.
 * Throws owns_spaces. Contract: 7, identity.
 */
export async function deleteFederatedIdentity(
  deps: DeletionDeps,
  { mode, requestId, ...identity }: IdentityDeletion,
): Promise<'deleted' | 'absent'> {
  const found = await findIdentity(deps.orm.em.fork(), identity)
  if (!found || found.isDeleted) return 'absent'

  const remove = async (em: EntityManager) => {
    const user = await lockUser(em, found.id)
    // Detached meanwhile: its former home decides nothing any more.
    if (!user || user.isDeleted || user.isLocal()) return null
    const deletion = await deleteLockedAccount(deps, em, { user, mode, actor: null, requestId })
    if (deletion.ownedSpaces) throw refuse.owns_spaces({ fields: { ownedSpaces: deletion.ownedSpaces } })
    return deletion.state
  }
  const state = await runTransaction(deps.orm, remove, { accountId: found.id })
  if (!state) return 'absent'
  await finishDeletion(deps, state)
  return 'deleted'
}
