import type { InviteStatus } from '@gatehouse/contracts'
import { nextId } from '@gatehouse/database'
import { Invite, InviteRedemption, type User } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import { raw, LockMode, type EntityManager, type FilterQuery } from '@mikro-orm/postgresql'

/** Still active at `expiresAt`. `now` in milliseconds. Spec: Invite status; Contract: 4, status. */
export function deriveInviteStatus(
  invite: Pick<Invite, 'revokedAt' | 'expiresAt' | 'usedCount' | 'maxUses'>,
  now: number,
): InviteStatus {
  if (invite.revokedAt) return 'revoked'
  if (invite.expiresAt && invite.expiresAt.getTime() < now) return 'expired'
  if (invite.maxUses != null && invite.usedCount >= invite.maxUses) return 'exhausted'
  return 'active'
}

/** The same rule as a query; `now` in milliseconds. No part is ever null. */
export function activeInvites(now: number): FilterQuery<Invite> {
  return {
    revokedAt: null,
    $and: [
      { $or: [{ expiresAt: null }, { expiresAt: { $gte: new Date(now) } }] },
      { $or: [{ maxUses: null }, { usedCount: { $lt: raw('max_uses') } }] },
    ],
  }
}

type Shown = { token: string; now: number }

/** Takes no lock: use it to refuse early, never to admit. `now` in milliseconds. Spec: Registration 4. */
export async function findInvite(em: EntityManager, { token, now }: Shown) {
  const invite = await em.findOne(Invite, { token })
  return invite && { invite, status: deriveInviteStatus(invite, now) }
}

/** Locks the row: one registration gets the last use. `now` in ms. Throws invite_invalid. Spec: Registration 4, 11. */
export async function lockActiveInvite(em: EntityManager, { token, now }: Shown): Promise<Invite> {
  const invite = await em.findOne(Invite, { token }, { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true })
  if (!invite || deriveInviteStatus(invite, now) !== 'active') throw refuse.invite_invalid()
  return invite
}

type Redemption = { invite: Invite; user: Pick<User, 'id' | 'username'>; now: number }

/** The invite must be locked, the account inserted. `now` in milliseconds. Spec: Registration 11, Invite redemption. */
export async function recordRedemption(em: EntityManager, { invite, user, now }: Redemption): Promise<void> {
  const redeemedAt = new Date(now)
  invite.usedCount += 1
  invite.lastRedeemedAt = redeemedAt
  const redeemed = { inviteId: invite.id, userId: user.id, registrantUsername: user.username, redeemedAt }
  await em.persist(em.create(InviteRedemption, { id: await nextId(em), ...redeemed })).flush()
}
