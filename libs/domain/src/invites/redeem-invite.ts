import { defineErrors } from '@gatehouse/runtime'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import { Invite, InviteRedemption } from '../entities/invite.ts'
import type { User } from '../entities/user.ts'
import { nextId } from '../instance.ts'
import { deriveInviteStatus } from './invite-status.ts'

const refuse = defineErrors({ invite_unavailable: { status: 403, message: 'Invalid or expired invite' } })
export const inviteUnavailable = refuse.invite_unavailable

/**
 * The active invite of a token, its row locked until the transaction of `em` ends, so that one registration gets the last
 * use; a token that was rotated while this waited for the lock finds nothing. The caller inserts the user next and then
 * records the redemption. `now` in milliseconds. Throws invite_unavailable. Spec: Registration 4, 11.
 */
export async function lockActiveInvite(
  em: EntityManager,
  { token, now }: { token: string; now: number },
): Promise<Invite> {
  const invite = await em.findOne(Invite, { token }, { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true })
  if (!invite || deriveInviteStatus(invite, now) !== 'active') throw inviteUnavailable()
  return invite
}

/**
 * Counts the use of a locked invite by an account that this transaction has inserted, and keeps the name it registered
 * with. `now` in milliseconds. Spec: Registration 11, Invite redemption.
 */
export async function recordRedemption(
  em: EntityManager,
  { invite, user, now }: { invite: Invite; user: Pick<User, 'id' | 'username'>; now: number },
): Promise<void> {
  const redeemedAt = new Date(now)
  invite.usedCount += 1
  invite.lastRedeemedAt = redeemedAt
  const redemption = em.create(InviteRedemption, {
    id: await nextId(em),
    inviteId: invite.id,
    userId: user.id,
    registrantUsername: user.username,
    redeemedAt,
  })
  await em.persist(redemption).flush()
}
