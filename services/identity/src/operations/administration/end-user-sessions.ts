import { sessionsEnded } from '@gatehouse/contracts'
import { runTransaction } from '@gatehouse/database'
import { accountStateOf, operator, recordAudit } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps, OperationContext } from '../../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { lockUser } from '../../queries/load-user.ts'
import { recordAccountEvent } from '../account-events.ts'

/**
 * The operator ends all sessions of an account: every earlier token is revoked when this resolves, and the event closes
 * every socket; the password stays. Throws user_unknown, target_deleted. Contract: 3, sessions/end.
 */
export async function endUserSessions(
  deps: OperationContext & Pick<Deps, 'afterCommit'>,
  { userId, requestId }: { userId: string; requestId?: string | undefined },
): Promise<void> {
  const end = async (em: EntityManager) => {
    const user = await lockUser(em, userId)
    if (!user) throw refuse.user_unknown()
    if (user.isDeleted) throw refuse.target_deleted()
    const at = user.endSessions(await deps.databaseTime(em))
    const target = { type: 'user' as const, id: userId }
    recordAudit(em, { action: 'user.sessions-ended', actor: operator, target, at: new Date(at) })
    await em.flush()
    const facts = { state: accountStateOf(user), at, actor: operator, requestId }
    return await recordAccountEvent(em, deps, sessionsEnded, facts)
  }
  const state = await runTransaction(deps.orm, end, { accountId: userId })
  await deps.afterCommit.invalidateCache(state)
}
