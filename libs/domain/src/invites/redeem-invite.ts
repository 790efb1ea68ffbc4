import { refuse } from '@gatehouse/runtime'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import { Invite, InviteRedemption } from '../entities/invite.ts'
import type { User } from '../entities/user.ts'
import { nextId } from '../instance.ts'
import { deriveInviteStatus } from './invite-status.ts'

/** Locks the row: one registration gets the last use. `now` in ms. Throws invite_invalid. Spec: Registration 4, 11. */
export async function lockActiveInvite(
  em: EntityManager,
  { token, now }: { token: string; now: number },
): Promise<Invite> {
  const invite = await em.findOne(Invite, { token }, { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true })
  if (!invite || deriveInviteStatus(invite, now) !== 'active') throw refuse.invite_invalid()
  return invite
}

/** The invite must be locked, the account inserted. `now` in milliseconds. Spec: Registration 11, Invite redemption. */
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
