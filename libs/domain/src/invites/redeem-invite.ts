import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import { Invite, InviteRedemption } from '../entities/invite.ts'
import { nextId } from '../next-id.ts'
import { type User } from '../entities/user.ts'
import { defineErrors } from '@gatehouse/runtime'
import { deriveInviteStatus } from './derive-invite-status.ts'

const refuse = defineErrors({ invite_unavailable: { status: 403, message: 'Invalid or expired invite' } })
export const inviteUnavailable = refuse.invite_unavailable

/**
 * Uses an invite for a new account, inside the transaction of `em`, which inserts the user between the check and the
 * count: all of it happens or nothing. The row stays locked until then, so the last slot goes to one; a token that was
 * rotated while this waited for the lock finds nothing. `now` in milliseconds. Throws invite_unavailable.
 * Spec: Registration 4, 11, Invite redemption.
 */
export async function redeemInvite(
  em: EntityManager,
  { token, now, insertUser }: { token: string; now: number; insertUser: () => Promise<User> },
): Promise<User> {
  const invite = await em.findOne(Invite, { token }, { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true })
  if (!invite || deriveInviteStatus(invite, now) !== 'active') throw inviteUnavailable()
  const user = await insertUser()
  invite.usedCount += 1
  invite.lastRedeemedAt = new Date(now)
  const redemption = em.create(InviteRedemption, {
    id: await nextId(em),
    inviteId: invite.id,
    userId: user.id,
    registrantUsername: user.username,
    redeemedAt: new Date(now),
  })
  await em.persist(redemption).flush()
  return user
}
