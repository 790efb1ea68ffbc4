import type { deleteIdentityBody } from '@gatehouse/contracts'
import { isRefusal } from '@gatehouse/runtime'
import type { z } from 'zod'
import { refuse } from '../errors.ts'
import { findIdentity } from '../queries/find-identity.ts'
import { endAccount, type EndingNeeds } from './tombstone/end-account.ts'

type Input = z.infer<typeof deleteIdentityBody> & { requestId?: string | undefined }

/**
 * Deletes the local copy of a remote user at the word of their home instance; `absent` when there is no live one.
 * Throws owns_spaces. Contract: 7, identity.
 */
export async function deleteFederatedIdentity(deps: EndingNeeds, input: Input): Promise<'deleted' | 'absent'> {
  const found = await findIdentity(deps.orm.em.fork(), input)
  if (!found || found.isDeleted) return 'absent'
  try {
    await endAccount(deps, {
      userId: found.id,
      mode: input.mode,
      requestId: input.requestId,
      confirm: (user) => {
        if (!user || user.isDeleted) throw refuse.account_deleted()
        return user
      },
      refuseOwner: (ownedSpaces) => refuse.owns_spaces({ fields: { ownedSpaces } }),
    })
    return 'deleted'
  } catch (error) {
    if (isRefusal(error) && error.code === 'account_deleted') return 'absent'
    throw error
  }
}
