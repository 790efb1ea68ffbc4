import { p, type InferEntity } from '@mikro-orm/core'
import { defineTable } from './table.ts'

export const Invite = defineTable('Invite', 'invites', {
  id: p.bigint('string').primary().autoincrement(false),
  token: p.text().unique(),
  name: p.text(),
  maxUses: p.integer().nullable(),
  usedCount: p.integer().default(0),
  expiresAt: p.datetime().nullable(),
  revokedAt: p.datetime().nullable(),
  createdBy: p.bigint('string').nullable(),
  /** With the authority of a member, which ends with a suspension. */
  byMember: p.boolean().default(false),
  createdAt: p.datetime(),
  lastRedeemedAt: p.datetime().nullable(),
})
export type Invite = InferEntity<typeof Invite>

export const InviteRedemption = defineTable('InviteRedemption', 'invite_redemptions', {
  id: p.bigint('string').primary().autoincrement(false),
  inviteId: p.bigint('string'),
  /** Null without a user row. Tombstones keep it. */
  userId: p.bigint('string').nullable(),
  registrantUsername: p.text(),
  redeemedAt: p.datetime(),
})
export type InviteRedemption = InferEntity<typeof InviteRedemption>
