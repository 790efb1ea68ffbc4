import { userSuspended, userUnsuspended, type ToldState, type applyAccountStates } from '@gatehouse/contracts'
import { User } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { OperationContext } from '../../deps.ts'
import { changeUser, enterAct, recordAccountEvent } from '../change-account.ts'
import { revocationTime } from '../credentials/revocation-time.ts'

type ToldStates = z.infer<typeof applyAccountStates.request> & { requestId?: string | undefined }

/** To the live accounts and stubs of that home alone. Gives the users of whom there is none here. Contract: 7, Account states. */
export async function applyStates(deps: OperationContext, { origin, host, states, requestId }: ToldStates) {
  const unknown: string[] = []
  for (const told of states) {
    const { homeUserId } = told
    const replicas = { homeInstance: host, homeUserId, isDeleted: false }
    const found = await deps.orm.em.fork().find(User, replicas, { fields: ['id'] })
    if (found.length === 0) unknown.push(homeUserId)
    for (const { id } of found) await applyState(deps, { userId: id, told, host, origin, requestId })
  }
  return { unknown }
}

type Change = { userId: string; told: ToldState; host: string; origin: string; requestId: string | undefined }

/** Nothing of a peer's repetition or of an earlier state is written. */
async function applyState(deps: OperationContext, change: Change): Promise<void> {
  const { userId, told, host } = change
  const state = await changeUser(deps, userId, async (user, em) => {
    const isReplica = user?.homeInstance === host && user.homeUserId === told.homeUserId && !user.isDeleted
    if (!isReplica || told.ts <= (user.homeStateAt ?? -Infinity)) return undefined
    const isSuspended = user.homeSuspendedAt != null
    if (isSuspended === (told.state === 'suspended')) user.homeStateAt = told.ts
    else if (isSuspended) return await lift(deps, em, { ...change, user })
    else return await suspend(deps, em, { ...change, user })
  })
  if (state) await deps.afterCommit.invalidateCache(state)
}

type Applied = Change & { user: User }

/** The peer acts: it has no account here. */
const actorOf = ({ origin }: Applied) => ({ userId: null, username: origin })

async function suspend(deps: OperationContext, em: EntityManager, applied: Applied) {
  const { user, told, requestId } = applied
  const at = await revocationTime(deps, em, { user })
  user.suspendByHome(told.ts, at)
  enterAct(em, { action: 'user.suspended-by-home', user, actor: actorOf(applied), at: deps.clock.now() })
  return await recordAccountEvent(em, deps, userSuspended, { user, at, actor: null, reason: null, requestId })
}

async function lift(deps: OperationContext, em: EntityManager, applied: Applied) {
  const { user, told, requestId } = applied
  const at = deps.clock.now()
  user.unsuspendByHome(told.ts)
  enterAct(em, { action: 'user.unsuspended-by-home', user, actor: actorOf(applied), at })
  if (user.isSuspended()) return undefined
  return await recordAccountEvent(em, deps, userUnsuspended, { user, at, actor: null, requestId })
}
