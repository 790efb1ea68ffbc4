import type { Invite } from '@gatehouse/domain'

export type Limits = { maxUses?: number | null | undefined; expiresAt?: number | null | undefined }

/** Sets the limits that are given; null lifts one. `expiresAt` in milliseconds. Contract: 4. */
export function changeLimits(invite: Invite, { maxUses, expiresAt }: Limits): void {
  if (maxUses !== undefined) invite.maxUses = maxUses
  if (expiresAt !== undefined) invite.expiresAt = expiresAt === null ? null : new Date(expiresAt)
}
