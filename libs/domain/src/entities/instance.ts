import type { proofOfWork } from '@gatehouse/contracts'
import { p, type InferEntity } from '@mikro-orm/core'
import type { z } from 'zod'
import { defineTable } from './table.ts'

export const InstanceSettings = defineTable('InstanceSettings', 'instance_settings', {
  id: p.integer().primary().autoincrement(false),
  instanceId: p.uuid(),
  instanceName: p.text(),
  /** Whom people ask who cannot log in. */
  contact: p.text().nullable(),
  description: p.text().nullable(),
  rules: p.text().nullable(),
  accentColor: p.text().nullable(),
  /** An upload without a user. */
  logo: p.text().nullable(),
  /** Null: the environment decides. Spec: Registration 3. */
  registrationOpen: p.boolean().nullable(),
  federatedRegistrationOpen: p.boolean(),
  autoAcceptPeering: p.boolean(),
  stubUpgradesNeedProof: p.boolean().default(false),
  /** Kept in `User.secondFactorDue` of each admin too. */
  requireSecondFactorForAdmins: p.boolean().default(false),
  /** Names, and prefixes that end in `*`. NOTE: the ORM writes the text `null` into an array column as no text. */
  reservedUsernames: p.json<string[]>().default([]),
  /** Of local registrations without an invite. Contract: 3, Approval. */
  approvalRequired: p.boolean().default(false),
  askReason: p.boolean().default(false),
  denialBlockHours: p.integer().default(24),
  proofOfWork: p.text().$type<z.infer<typeof proofOfWork>>().default('off'),
  /** That a member may make in 30 days. */
  memberInvites: p.integer().default(0),
  /** Whether applications log users in with accounts of this instance. Contract: 3, Applications. */
  openidEnabled: p.boolean().default(false),
  /** 0 to 1023, drawn at first boot. Spec: Instance settings. */
  workerId: p.integer(),
  /** Set once, under any concurrency. */
  firstAdminId: p.bigint('string').nullable(),
})
export type InstanceSettings = InferEntity<typeof InstanceSettings>

export const AuditEntry = defineTable('AuditEntry', 'audit_log', {
  id: p.bigint('string').primary().autoincrement(false).defaultRaw('next_snowflake()'),
  action: p.text(),
  actorId: p.bigint('string').nullable(),
  actorUsername: p.text().nullable(),
  targetType: p.text(),
  targetId: p.text().nullable(),
  /** The name that a user had then. */
  targetName: p.text().nullable(),
  detail: p.json<Record<string, unknown>>(),
  createdAt: p.datetime(),
})
export type AuditEntry = InferEntity<typeof AuditEntry>

/** Written in the transaction of the change, and deleted when NATS has it. Design: invariant 2. */
export const OutboxEvent = defineTable('OutboxEvent', 'outbox', {
  id: p.bigint('string').primary().generated('identity'),
  eventId: p.uuid().unique('outbox_event_id_key'),
  subject: p.text(),
  payload: p.json<unknown>(),
  requestId: p.text().nullable(),
  traceparent: p.text().nullable(),
  /** By the database's clock. */
  createdAt: p.datetime().defaultRaw('now()'),
})
export type OutboxEvent = InferEntity<typeof OutboxEvent>
