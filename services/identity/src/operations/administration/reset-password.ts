import { passwordReset } from '@gatehouse/contracts'
import { User, accountStateOf, recordAudit, type Actor } from '@gatehouse/domain'
import { randomToken } from '@gatehouse/runtime'
import type { Deps, OperationContext } from '../../deps.ts'
import { refuse } from '../../errors.ts'
import { policy } from '../../policy.ts'
import { lockUser } from '../../queries/load-user.ts'
import { recordAccountEvent } from '../account-events.ts'

/**
 * Gives a local account a temporary password, which the admin hands over; its tokens are revoked when this resolves, and
 * the event closes its sockets. Throws user_unknown, target_deleted, target_federated. Spec: Admin reset 1-4.
 */
export async function resetPassword(
  deps: OperationContext & Pick<Deps, 'hasher' | 'afterCommit'>,
  { userId, actor, requestId }: { userId: string; actor: Actor; requestId?: string | undefined },
): Promise<string> {
  requireResettable(await deps.orm.em.fork().findOne(User, { id: userId }))
  const temporaryPassword = randomToken(deps.random, policy.temporaryPasswordBytes)
  const passwordHash = await deps.hasher.hash(temporaryPassword)

  const state = await deps.orm.em.fork().transactional(async (em) => {
    const user = requireResettable(await lockUser(em, userId))
    const now = deps.clock.now()
    user.resetPassword(passwordHash, now)
    recordAudit(em, { action: 'user.password-reset', actor, target: { type: 'user', id: userId }, at: new Date(now) })
    await em.flush()
    return await recordAccountEvent(em, deps, passwordReset, { state: accountStateOf(user), at: now, actor, requestId })
  })
  await deps.afterCommit.invalidateCache(state)
  return temporaryPassword
}

function requireResettable(user: User | null): User {
  if (!user) throw refuse.user_unknown()
  if (user.isDeleted) throw refuse.target_deleted()
  if (!user.isLocal()) throw refuse.target_federated()
  return user
}
