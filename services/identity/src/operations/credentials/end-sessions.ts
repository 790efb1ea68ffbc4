import { sessionsEnded } from '@gatehouse/contracts'
import { runTransaction } from '@gatehouse/database'
import { User, accountStateOf, assertCurrent, type ActingCaller } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps, OperationContext } from '../../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { lockUser } from '../../queries/load-user.ts'
import { recordAccountEvent } from '../account-events.ts'
import { verifyOwnPassword } from './verify-own-password.ts'

type Ending = { caller: ActingCaller; address: string; password?: unknown; requestId?: string | undefined }

/**
 * Ends all own sessions: every earlier token is revoked when this resolves, and the event closes every socket; the
 * password stays. `issuedAt`, in milliseconds, is the time of issue of the fresh token. Throws password_required,
 * password_incorrect, account_deleted, token_revoked, hashing_busy. Contract: 3, sessions/end.
 */
export async function endSessions(
  deps: OperationContext & Pick<Deps, 'hasher' | 'afterCommit'>,
  { caller, address, password, requestId }: Ending,
): Promise<{ user: User; issuedAt: number }> {
  const { userId } = caller
  const before = await deps.orm.em.fork().findOne(User, { id: userId })
  assertCurrent(before, caller)
  if (before.isLocal()) await verifyOwnPassword(deps, before, { password, address })

  const end = async (em: EntityManager) => {
    const user = await lockUser(em, userId)
    assertCurrent(user, caller)
    if (before.isLocal() && user.passwordHash !== before.passwordHash) throw refuse.password_incorrect()
    const issuedAt = user.endSessions(await deps.databaseTime(em))
    await em.flush()
    const actor = { userId, username: user.username }
    await recordAccountEvent(em, deps, sessionsEnded, { state: accountStateOf(user), at: issuedAt, actor, requestId })
    return { user, issuedAt }
  }
  const ended = await runTransaction(deps.orm, end, { accountId: userId })
  await deps.afterCommit.invalidateCache(accountStateOf(ended.user))
  return ended
}
