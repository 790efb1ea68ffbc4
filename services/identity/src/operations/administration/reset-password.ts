import { passwordReset } from '@gatehouse/contracts'
import { transaction } from '@gatehouse/database'
import { User, assertCallerCurrent, recordAudit, type ActingAdmin } from '@gatehouse/domain'
import { randomToken, refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps, OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { lockInOrder, lockUser, requireLive } from '../../queries/load-user.ts'
import { recordAccountEvent } from '../change-account.ts'

type PasswordReset = { userId: string; actor: ActingAdmin; address: string; requestId?: string | undefined }

/**
 * Gives a local account a temporary password, and revokes its tokens. Throws user_unknown, target_deleted,
 * target_federated, hashing_busy, and as `assertCallerCurrent` does. Spec: Admin reset 1-4.
 */
export async function resetPassword(
  deps: OperationContext & Pick<Deps, 'hasher' | 'afterCommit'>,
  { userId, actor, address, requestId }: PasswordReset,
): Promise<string> {
  requireResettable(await deps.orm.em.fork().findOne(User, { id: userId }))
  const temporaryPassword = randomToken(deps.random, policy.temporaryPasswordBytes)
  const passwordHash = await deps.hasher.hash(temporaryPassword, address)
  const reset = async (em: EntityManager) => {
    await lockInOrder(em, actor.userId === null ? [userId] : [actor.userId, userId])
    await assertCallerCurrent(em, actor, { admin: true })
    const user = requireResettable(await lockUser(em, userId))
    const at = user.resetPassword(passwordHash, await deps.databaseTime(em))
    recordAudit(em, { action: 'user.password-reset', actor, target: { type: 'user', id: userId }, at: new Date(at) })
    return await recordAccountEvent(em, deps, passwordReset, { user, at, actor, requestId })
  }
  await deps.afterCommit.invalidateCache(await transaction(deps.orm, reset, { accountId: userId }))
  return temporaryPassword
}

function requireResettable(user: User | null): User {
  const live = requireLive(user)
  if (!live.isLocal()) throw refuse.target_federated()
  return live
}
