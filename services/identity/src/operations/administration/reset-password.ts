import { passwordReset } from '@gatehouse/contracts'
import { runTransaction } from '@gatehouse/database'
import { User, accountStateOf, assertCallerCurrent, recordAudit, type ActingAdmin } from '@gatehouse/domain'
import { randomToken, refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps, OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { lockInOrder, lockUser } from '../../queries/load-user.ts'
import { recordAccountEvent } from '../account-events.ts'

type PasswordReset = { userId: string; actor: ActingAdmin; address: string; requestId?: string | undefined }

/**
 * Gives a local account a temporary password, which the admin hands over; its tokens are revoked when this resolves, and
 * the event closes its sockets. Throws user_unknown, target_deleted, target_federated, and as
 * `assertCallerCurrent` does. Spec: Admin reset 1-4.
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
    const now = user.resetPassword(passwordHash, await deps.databaseTime(em))
    recordAudit(em, { action: 'user.password-reset', actor, target: { type: 'user', id: userId }, at: new Date(now) })
    await em.flush()
    return await recordAccountEvent(em, deps, passwordReset, { state: accountStateOf(user), at: now, actor, requestId })
  }
  const state = await runTransaction(deps.orm, reset, { accountId: userId })
  await deps.afterCommit.invalidateCache(state)
  return temporaryPassword
}

function requireResettable(user: User | null): User {
  if (!user) throw refuse.user_unknown()
  if (user.isDeleted) throw refuse.target_deleted()
  if (!user.isLocal()) throw refuse.target_federated()
  return user
}
