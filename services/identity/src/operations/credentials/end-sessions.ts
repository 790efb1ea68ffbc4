import { sessionsEnded } from '@gatehouse/contracts'
import type { ActingAdmin, ActingCaller, Actor, User } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps, OperationContext } from '../../deps.ts'
import { loadCaller } from '../../queries/load-user.ts'
import { changeSelf, recordAccountEvent, actorOf, changeOther, enterAct } from '../change-account.ts'
import { verifyOwnPassword } from './verify-password.ts'

type EndingDeps = OperationContext & Pick<Deps, 'afterCommit'>
type Ending = { caller: ActingCaller; address: string; password?: unknown; requestId?: string | undefined }

/**
 * Ends all own sessions. `issuedAt` (ms) is the time of issue of the fresh token. Throws password_required,
 * password_incorrect, account_deleted, token_revoked, hashing_busy. Contract: 3, sessions/end.
 */
export async function endSessions(
  deps: EndingDeps & Pick<Deps, 'hasher'>,
  { caller, address, password, requestId }: Ending,
): Promise<{ user: User; issuedAt: number }> {
  const before = await loadCaller(deps, caller)
  await verifyOwnPassword(deps, before, { password, address })
  const { state, ...ended } = await changeSelf(deps, caller, async (user, em) => {
    if (before.isLocal() && user.passwordHash !== before.passwordHash) throw refuse.password_incorrect()
    return await end(deps, em, { user, actor: actorOf(user), requestId })
  })
  await deps.afterCommit.invalidateCache(state)
  return ended
}

type EndingOfOther = { userId: string; actor: ActingAdmin; requestId?: string | undefined }

/** The password stays. Throws user_unknown, target_deleted, and as `assertCallerCurrent` does. Contract: 5, sessions/end. */
export async function endUserSessions(deps: EndingDeps, { userId, actor, requestId }: EndingOfOther): Promise<void> {
  const { state } = await changeOther(deps, { userId, actor }, async (user, em) => {
    const ended = await end(deps, em, { user, actor, requestId })
    enterAct(em, { action: 'user.sessions-ended', user, actor, at: ended.issuedAt })
    return ended
  })
  await deps.afterCommit.invalidateCache(state)
}

type Ended = { user: User; actor: Actor; requestId: string | undefined }

async function end(deps: OperationContext, em: EntityManager, { user, actor, requestId }: Ended) {
  const issuedAt = user.endSessions(await deps.databaseTime(em))
  const state = await recordAccountEvent(em, deps, sessionsEnded, { user, at: issuedAt, actor, requestId })
  return { user, issuedAt, state }
}
