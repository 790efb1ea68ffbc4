import type { InviteStatus } from '@gatehouse/contracts'
import type { Invite } from '../entities/invite.ts'
import { raw, type FilterQuery } from '@mikro-orm/postgresql'

type Dated = Pick<Invite, 'revokedAt' | 'expiresAt' | 'usedCount' | 'maxUses'>

/**
 * The state of an invite, which is never stored: revoked before expired before exhausted. One that expires at this very
 * millisecond still counts. `now` in milliseconds. Spec: Invite status; Contract: 4.
 */
export function deriveInviteStatus(invite: Dated, now: number): InviteStatus {
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
