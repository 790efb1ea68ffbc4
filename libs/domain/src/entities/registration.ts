import type { AvatarColor } from '@gatehouse/contracts'
import { defineEntity, p, type InferEntity } from '@mikro-orm/core'
import { defineTable } from './table.ts'

// Nothing of a denied registration is kept but the network that its admin blocked. Contract: 3, Approval.

/** Waits for an admin while it has a username. Then it only tells by its receipt which account it became, for 30 days. */
export const Registration = defineEntity({
  name: 'Registration',
  tableName: 'registrations',
  uniques: [{ name: 'registrations_identity_unique', properties: ['issuer', 'subject'] }],
  properties: {
    id: p.bigint('string').primary().autoincrement(false),
    /** SHA-256 in hex. */
    receiptHash: p.text().unique('registrations_receipt_unique'),
    createdAt: p.datetime(),
    userId: p.bigint('string').nullable().unique('registrations_user_unique'),
    /** Nobody else gets it meanwhile. */
    username: p.text().nullable().unique('registrations_username_unique'),
    /** Null: by an identity provider, without a password. */
    passwordHash: p.text().nullable(),
    displayName: p.text().nullable(),
    avatarColor: p.text().$type<AvatarColor>().nullable(),
    reason: p.text().nullable(),
    /** As limits count it. */
    network: p.text().nullable(),
    client: p.text().nullable(),
    provider: p.text().nullable(),
    issuer: p.text().nullable(),
    subject: p.text().nullable(),
    identityName: p.text().nullable(),
    /** For a minute it can be restored. */
    deniedAt: p.datetime().nullable(),
  },
})
export type Registration = InferEntity<typeof Registration>

/** By the denial of a registration, whose row may be gone. */
export const BlockedNetwork = defineTable('BlockedNetwork', 'blocked_networks', {
  registrationId: p.bigint('string').primary().autoincrement(false),
  network: p.text(),
  until: p.datetime(),
})
export type BlockedNetwork = InferEntity<typeof BlockedNetwork>
