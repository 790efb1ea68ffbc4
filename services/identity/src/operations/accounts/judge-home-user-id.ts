import { isDeepStrictEqual } from 'node:util'
import { newHomeUserId } from '@gatehouse/contracts'
import { AuditEntry, type User } from '@gatehouse/domain'
import type { OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { findIdentity } from '../../queries/load-user.ts'
import { changeUser, writeAuditEntry } from '../change-account.ts'

type Answer = { account: User; answered: unknown; requestId: string | undefined }

/**
 * Judges for whom a home answered. Gives the id where the account holds it, or holds none and no other live account here
 * does. Null for any other user, which is logged, and audited once. Contract: 7, Login repair.
 */
export async function judgeHomeUserId(deps: OperationContext, answer: Answer): Promise<string | null> {
  const { account, answered, requestId } = answer
  const homeUserId = newHomeUserId.safeParse(answered).data
  const fits = homeUserId !== undefined && account.fitsHomeUserId(homeUserId)
  if (fits && !(await isHeldByOther(deps, account, homeUserId))) return homeUserId
  await reportOtherUser(deps, { account, answeredId: homeUserId ?? describeId(answered), requestId })
  return null
}

async function isHeldByOther({ orm }: OperationContext, { id, homeInstance }: User, homeUserId: string) {
  const holder = await findIdentity(orm.em.fork(), { homeInstance: homeInstance ?? '', homeUserId })
  return holder !== null && !holder.isDeleted && holder.id !== id
}

/** A text may hold what cannot be stored. */
const describeId = (id: unknown): string => (typeof id === 'number' ? `number ${id}` : typeof id)

type Report = { account: User; answeredId: string; requestId: string | undefined }

/** Once for each pair of ids, and for a few pairs only: a home may answer another id each time. */
async function reportOtherUser(deps: OperationContext, { account, answeredId, requestId }: Report): Promise<void> {
  const { id: userId, homeInstance, homeUserId = null } = account
  const detail = { homeUserId, answeredId }
  deps.log.warn({ userId, homeInstance, requestId, ...detail }, 'home instance answered for another user')
  const action = 'user.home-answer-refused'
  await changeUser(deps, userId, async (user, em) => {
    if (!user || user.isDeleted) return
    const entries = await em.find(AuditEntry, { action, targetId: userId }, { limit: policy.homeAnswersAudited })
    const isEntered = entries.some((entry) => isDeepStrictEqual(entry.detail, detail))
    if (isEntered || entries.length === policy.homeAnswersAudited) return
    writeAuditEntry(em, { action, user, detail, at: deps.clock.now() })
  })
}
