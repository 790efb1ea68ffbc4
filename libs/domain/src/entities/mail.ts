import type { EmailReply, MailLanguage } from '@gatehouse/contracts'
import { defineEntity, p, type InferEntity } from '@mikro-orm/core'
import { defineTable } from './table.ts'

// An address must not get into a log or an event. Contract: 3, Mail.

const EmailSchema = defineEntity({
  name: 'Email',
  tableName: 'emails',
  uniques: [{ name: 'emails_link_hash_unique', properties: ['linkHash'] }],
  properties: {
    userId: p.bigint('string').primary().autoincrement(false),
    /** Null: only the choice of notices is kept. */
    address: p.text().nullable(),
    /** Equal for the spellings of one mailbox. */
    key: p.text().nullable(),
    language: p.text().$type<MailLanguage>().default('en'),
    /** Of logins by an unknown client. */
    notices: p.boolean().default(true),
    confirmedAt: p.datetime().nullable(),
    bouncedAt: p.datetime().nullable(),
    /** Of the secret that confirms the address. */
    linkHash: p.text().nullable(),
    linkExpiresAt: p.datetime().nullable(),
  },
})

/** The address of an account. */
export class Email extends EmailSchema.class {
  get reply(): EmailReply | null {
    const { address, confirmedAt, bouncedAt } = this
    if (address == null) return null
    return { address, confirmed: confirmedAt != null, ...(bouncedAt != null && { bounced: true }) }
  }
}
EmailSchema.setClass(Email)

export type MailData = Record<string, string | number | null>

/** A mail that waits, or that was tried within the last hour: limits count it. */
export const Mail = defineTable('Mail', 'mails', {
  id: p.bigint('string').primary().autoincrement(false).defaultRaw('next_snowflake()'),
  /** Of all attempts; without the domain. */
  messageId: p.text().defaultRaw('(gen_random_uuid())::text'),
  /** Null: the account is deleted. */
  userId: p.bigint('string').nullable(),
  kind: p.text(),
  address: p.text(),
  key: p.text(),
  language: p.text().$type<MailLanguage>(),
  data: p.json<MailData>(),
  /** Of its link. Encrypted. */
  secret: p.text().nullable(),
  attempts: p.integer().default(0),
  createdAt: p.datetime(),
  triedAt: p.datetime().nullable(),
  /** Null: it is sent, or given up. */
  nextAt: p.datetime().nullable(),
  /** It is given up then. */
  expiresAt: p.datetime(),
})
export type Mail = InferEntity<typeof Mail>

/** What was typed in a request for a recovery link. The sender looks for the account later, so that no answer depends on it. */
export const RecoveryRequest = defineTable('RecoveryRequest', 'recovery_requests', {
  id: p.bigint('string').primary().autoincrement(false).defaultRaw('next_snowflake()'),
  asked: p.json<{ username: string | null; email: string | null }>(),
  createdAt: p.datetime(),
})
