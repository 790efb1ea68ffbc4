import { z } from 'zod'
import * as limits from './constants/limits.ts'
import { namedObject, requiredText, snowflake, timestampMs } from './text.ts'

/** Never stored. Spec: Invite status. */
export const inviteStatus = z.enum(['active', 'exhausted', 'expired', 'revoked'])
export type InviteStatus = z.infer<typeof inviteStatus>

export const inviteReply = namedObject('Invite', {
  id: snowflake,
  token: z.string(),
  name: z.string(),
  status: inviteStatus,
  maxUses: z.number().int().nullable(),
  usedCount: z.number().int(),
  expiresAt: timestampMs.nullable(),
  revokedAt: timestampMs.nullable(),
  createdBy: snowflake.nullable(),
  createdByUsername: z.string().nullable(),
  createdAt: timestampMs,
  lastRedeemedAt: timestampMs.nullable(),
  url: z.string(),
})
export type InviteReply = z.infer<typeof inviteReply>

export const redemptionReply = namedObject('InviteRedemption', {
  id: snowflake,
  userId: snowflake.nullable(),
  registrantUsername: z.string(),
  currentUsername: z.string().nullable(),
  isDeleted: z.boolean(),
  redeemedAt: timestampMs,
})
export type RedemptionReply = z.infer<typeof redemptionReply>

const inviteName = requiredText('name', limits.inviteNameMax)
const noCount = { error: 'maxUses must be null or a positive integer' }
const tooMany = { error: 'maxUses is too large' }
const maxUses = z.number(noCount).int(noCount).positive(noCount).max(2_147_483_647, tooMany).nullable()
const noTime = { error: 'expiresAt must be null or an integer in milliseconds' }
const outside = { error: 'expiresAt is out of range' }
const expiresAt = z.number(noTime).int(noTime).min(0, outside).max(limits.inviteExpiresAtMaxMs, outside).nullable()

export const createInviteBody = z.object({
  name: inviteName,
  maxUses: maxUses.optional().transform((value) => value ?? null),
  expiresAt: expiresAt.optional().transform((value) => value ?? null),
})
/** A member's invite has narrower limits than an admin's. Contract: 4, Invites of members. */
export const createOwnInviteBody = z.object({
  name: inviteName,
  maxUses: z
    .int({ error: 'maxUses must be a positive integer' })
    .positive({ error: 'maxUses must be a positive integer' })
    .max(limits.memberInviteUsesMax, { error: `maxUses must be at most ${limits.memberInviteUsesMax}` })
    .nullish()
    .transform((value) => value ?? 1),
  expiresAt: expiresAt.optional().transform((value) => value ?? null),
})
export const patchInviteBody = z.object({
  name: inviteName.optional(),
  maxUses: maxUses.optional(),
  expiresAt: expiresAt.optional(),
})
export const reinstateInviteBody = z.object({ maxUses: maxUses.optional(), expiresAt: expiresAt.optional() })

/** `cursor`: the last `nextCursor`. Contract: 4, lists. */
export const pageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(limits.pageSizeMax).default(limits.pageSizeMax),
  cursor: snowflake.optional(),
})
const listedStatus = z.enum(['active', 'archived']).meta({ id: 'ListedInvites' })
export const listInvitesQuery = pageQuery.extend({ status: listedStatus.default('active') })
export const invitesReply = z.object({ invites: z.array(inviteReply), nextCursor: z.string().nullable() })
/** `left`: how many may be created now. */
export const ownInvitesReply = invitesReply.extend({ left: z.int() })
export const oneInviteReply = namedObject('OneInvite', { invite: inviteReply })
export const reinstateReply = z.object({ invite: inviteReply, tokenRotated: z.boolean() })
export const redemptionsReply = z.object({ redemptions: z.array(redemptionReply), nextCursor: z.string().nullable() })
