import { User, accountStateOf, recordAudit } from '@gatehouse/domain'
import { randomToken } from '@gatehouse/runtime'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { policy } from '../policy.ts'
import { lockUser } from '../queries/lock-user.ts'
import { enqueueAccountChange, settleAccountChange } from './account-change.ts'

type Input = { userId: string; actor: { userId: string; username: string }; requestId?: string | undefined }
type Needs = Pick<Deps, 'orm' | 'clock' | 'random' | 'hasher' | 'announcer' | 'relay'>

/**
 * Gives a local account a temporary password, which the admin hands over; its tokens are dead and its sockets closing
 * when this resolves. Throws user_unknown, target_deleted, target_federated. Spec: Admin reset 1-4.
 */
export async function resetPassword(deps: Needs, { userId, actor, requestId }: Input): Promise<string> {
  resettable(await deps.orm.em.fork().findOne(User, { id: userId }))
  const temporaryPassword = randomToken(deps.random, policy.temporaryPasswordBytes)
  const passwordHash = await deps.hasher.hash(temporaryPassword)

  const state = await deps.orm.em.fork().transactional(async (em) => {
    const user = resettable(await lockUser(em, userId))
    const now = deps.clock.now()
    user.changePassword(passwordHash, now)
    user.sessionsEndedAt = now
    recordAudit(em, { action: 'user.password-reset', actor, target: { type: 'user', id: userId }, at: new Date(now) })
    await em.flush()
    const changed = accountStateOf(user)
    await enqueueAccountChange(em, deps, { state: changed, sessionsEnded: 'password_reset', requestId })
    return changed
  })
  await settleAccountChange(deps, state)
  return temporaryPassword
}

function resettable(user: User | null): User {
  if (!user) throw refuse.user_unknown()
  if (user.isDeleted) throw refuse.target_deleted()
  if (!user.isLocal()) throw refuse.target_federated()
  return user
}
