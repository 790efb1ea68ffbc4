import type { ActingCaller } from '@gatehouse/authority'
import { sessionsEnded } from '@gatehouse/contracts'
import type { Actor } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps, OperationContext } from '../../deps.ts'
import {
  actorOf,
  changeOther,
  writeAuditEntry,
  recordAccountEvent,
  type AdminAct,
  type Cause,
} from '../change-account.ts'
import { revocationTime } from './revocation-time.ts'
import { changeConfirmed, type Confirmed } from './verify-password.ts'

/** Ends all own sessions. `issuedAt` (ms) is the time of issue of the fresh token. Contract: 3, sessions/end. */
export async function endSessions(deps: OperationContext & Pick<Deps, 'hasher'>, input: Confirmed) {
  const { caller, requestId } = input
  const { state, ...ended } = await changeConfirmed(deps, input, (user, em) =>
    endLockedSessions(deps, em, { user, caller, actor: actorOf(user), requestId }),
  )
  await deps.afterCommit.invalidateCache(state)
  return ended
}

/** The password stays. Contract: 5, sessions/end. */
export async function endUserSessions(deps: OperationContext, act: AdminAct): Promise<void> {
  const { actor, requestId } = act
  const { state } = await changeOther(deps, act, async (user, em) => {
    const ended = await endLockedSessions(deps, em, { user, actor, requestId })
    writeAuditEntry(em, { action: 'user.sessions-ended', user, actor, at: ended.issuedAt })
    return ended
  })
  await deps.afterCommit.invalidateCache(state)
}

type End = Cause & { actor: Actor; caller?: ActingCaller }

/** Call it under the account's lock, and `invalidateCache` after the commit. Contract: 3, sessions/end. */
export async function endLockedSessions(
  deps: OperationContext,
  em: EntityManager,
  { user, caller, actor, requestId }: End,
) {
  const issuedAt = await revocationTime(deps, em, { user, caller })
  user.endSessions(issuedAt)
  const state = await recordAccountEvent(em, deps, sessionsEnded, { user, at: issuedAt, actor, requestId })
  return { user, issuedAt, state }
}
