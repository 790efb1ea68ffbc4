import type { InviteStatus } from '@gatehouse/contracts'
import { raw, type EntityManager, type FilterQuery } from '@mikro-orm/postgresql'
import { Invite } from '../entities/invite.ts'

/** Still active at `expiresAt`. `now` in milliseconds. Spec: Invite status; Contract: 4. */
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

/** Takes no lock: use it to refuse early, never to admit. `now` in milliseconds. Spec: Registration 4. */
export async function findInvite(
  em: EntityManager,
  { token, now }: { token: string; now: number },
): Promise<{ invite: Invite; status: InviteStatus } | null> {
  const invite = await em.findOne(Invite, { token })
  return invite && { invite, status: deriveInviteStatus(invite, now) }
}
