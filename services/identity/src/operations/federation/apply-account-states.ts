import { userSuspended, userUnsuspended, type ToldState, type applyAccountStates } from '@gatehouse/contracts'
import { AuditEntry, User } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { changeUser, writeAuditEntry, recordAccountEvent } from '../change-account.ts'
import { revocationTime } from '../credentials/revocation-time.ts'

type ToldStates = z.infer<typeof applyAccountStates.request> & { requestId?: string | undefined }

/** To the live accounts and stubs of that home alone. Gives the users of whom there is none here. Contract: 7, Account states. */
export async function applyStates(deps: OperationContext, { origin, host, states, requestId }: ToldStates) {
  const unknown: string[] = []
  for (const homeState of states) {
    const { homeUserId } = homeState
    const replicas = { homeInstance: host, homeUserId, isDeleted: false }
    const users = await deps.orm.em.fork().find(User, replicas, { fields: ['id'] })
    if (users.length === 0) unknown.push(homeUserId)
    for (const { id } of users) await applyState(deps, { userId: id, homeState, host, origin, requestId })
  }
  return { unknown }
}

type Change = { userId: string; homeState: ToldState; host: string; origin: string; requestId: string | undefined }

/** Nothing of a peer's repetition or of an earlier state is written. */
async function applyState(deps: OperationContext, change: Change): Promise<void> {
  const { userId, homeState, host } = change
  const state = await changeUser(deps, userId, async (user, em) => {
    const isReplica = user?.homeInstance === host && user.homeUserId === homeState.homeUserId && !user.isDeleted
    if (!isReplica || homeState.ts <= (user.homeStateAt ?? -Infinity)) return undefined
    const isSuspended = user.homeSuspendedAt != null
    if (isSuspended === (homeState.state === 'suspended')) user.homeStateAt = homeState.ts
    else if (isSuspended) return await lift(deps, em, { ...change, user })
    else return await suspend(deps, em, { ...change, user })
  })
  if (state) await deps.afterCommit.invalidateCache(state)
}

type Applied = Change & { user: User }

const audited = { suspended: 'user.suspended-by-home', active: 'user.unsuspended-by-home' } as const

/** By the peer, which has no account here. A home may alternate as often as it likes: of an account a few within a day are entered. */
async function enter(em: EntityManager, { user, homeState, origin }: Applied, at: number) {
  const where = { action: { $in: Object.values(audited) }, targetId: user.id }
  const limit = policy.homeStatesAudited
  const newest = await em.find(AuditEntry, where, { orderBy: { id: 'desc' }, limit })
  const oldestAt = newest[limit - 1]?.createdAt.getTime() ?? -Infinity
  if (oldestAt > at - policy.homeStatesAuditedWithinMs) return
  writeAuditEntry(em, { action: audited[homeState.state], user, actor: { userId: null, username: origin }, at })
}

async function suspend(deps: OperationContext, em: EntityManager, applied: Applied) {
  const { user, homeState, requestId } = applied
  const at = await revocationTime(deps, em, { user })
  user.suspendByHome(homeState.ts, at)
  await enter(em, applied, deps.clock.now())
  return await recordAccountEvent(em, deps, userSuspended, { user, at, actor: null, reason: null, requestId })
}

async function lift(deps: OperationContext, em: EntityManager, applied: Applied) {
  const { user, homeState, requestId } = applied
  const at = deps.clock.now()
  user.unsuspendByHome(homeState.ts)
  await enter(em, applied, at)
  if (user.isSuspended()) return undefined
  return await recordAccountEvent(em, deps, userUnsuspended, { user, at, actor: null, requestId })
}
