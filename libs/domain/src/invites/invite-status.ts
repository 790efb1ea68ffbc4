import type { InviteStatus } from '@gatehouse/contracts'
import { raw, type EntityManager, type FilterQuery } from '@mikro-orm/postgresql'
import { Invite } from '../entities/invite.ts'

/**
 * The status of an invite, which is never stored: revoked before expired before exhausted. At the very millisecond of
 * `expiresAt` it is not yet expired. `now` in milliseconds. Spec: Invite status; Contract: 4.
 */
export function deriveInviteStatus(
  invite: Pick<Invite, 'revokedAt' | 'expiresAt' | 'usedCount' | 'maxUses'>,
  now: number,
): InviteStatus {
  if (invite.revokedAt) return 'revoked'
  if (invite.expiresAt && invite.expiresAt.getTime() < now) return 'expired'
  if (invite.maxUses != null && invite.usedCount >= invite.maxUses) return 'exhausted'
  return 'active'
}

/** The same rule for a query: the invites that are active at `now`, in milliseconds. None of its parts is ever null. */
export function activeInvites(now: number): FilterQuery<Invite> {
  return {
    revokedAt: null,
    $and: [
      { $or: [{ expiresAt: null }, { expiresAt: { $gte: new Date(now) } }] },
      { $or: [{ maxUses: null }, { usedCount: { $lt: raw('max_uses') } }] },
    ],
  }
}

/**
 * The invite of a token with its status at `now` (milliseconds), or null. It locks nothing: enough to refuse early, never
 * to admit. Spec: Registration 4.
 */
export async function findInvite(
  em: EntityManager,
  { token, now }: { token: string; now: number },
): Promise<{ invite: Invite; status: InviteStatus } | null> {
  const invite = await em.findOne(Invite, { token })
  return invite && { invite, status: deriveInviteStatus(invite, now) }
}
