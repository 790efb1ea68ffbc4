import type { DeletionMode, KeptReceipt, OrderState, UpstreamDeletionError, registryReply } from '@gatehouse/contracts'
import { defineEntity, p, type InferEntity } from '@mikro-orm/core'
import type { z } from 'zod'
import { defineTable } from './table.ts'

/** A nonce works once for each origin, over all replicas. Contract: 7, signatures. */
export const FederationNonce = defineTable('FederationNonce', 'federation_nonces', {
  origin: p.text().primary(),
  nonce: p.text().primary(),
  expiresAt: p.datetime(),
})

/** The former instance of an origin, until it is back or its accounts are detached. Contract: 7, detached accounts. */
export const PeerReset = defineTable('PeerReset', 'peer_resets', {
  origin: p.text().primary(),
  host: p.text(),
  instanceId: p.text(),
  newInstanceId: p.text().nullable(),
  attempts: p.integer().default(0),
  nextAttemptAt: p.datetime().nullable(),
  /** By the database's clock. Null: only activation showed it. */
  seenAt: p.datetime().nullable(),
})

/** One row for each peer and user. Contract: 7, profiles. */
export const FederationDelivery = defineTable('FederationDelivery', 'federation_deliveries', {
  peerId: p.bigint('string').primary(),
  userId: p.bigint('string').primary(),
  /** profileUpdatedAt when queued. */
  version: p.bigint('number'),
  attempts: p.integer().default(0),
  nextAttemptAt: p.datetime(),
  expiresAt: p.datetime(),
})

/** The peers that looked a native user up, once each, also those that are none now. Contract: 7, Account states. */
export const ProfileAsker = defineTable('ProfileAsker', 'profile_askers', {
  userId: p.bigint('string').primary(),
  origin: p.text().primary(),
})

/** The hosts on which a native user names an account; triggers keep it. Contract: 7, profiles. */
export const ReplicaHost = defineTable('ReplicaHost', 'replica_hosts', {
  /** Lower case, without port. */
  host: p.text().primary(),
  profileUpdatedAt: p.bigint('number').primary(),
  userId: p.bigint('string').primary(),
})

/** For one other instance, once. protocol.md 4.6. */
export const AttachProof = defineTable('AttachProof', 'attach_proofs', {
  tokenHash: p.text().primary(),
  userId: p.bigint('string'),
  targetDomain: p.text(),
  expiresAt: p.datetime(),
})

/** Password of the user's account at another instance, encrypted. protocol.md 4.7. */
export const FederationCredential = defineTable('FederationCredential', 'federation_credentials', {
  userId: p.bigint('string').primary(),
  origin: p.text().primary(),
  secret: p.text().hidden(),
  createdAt: p.datetime(),
  provisionedAt: p.datetime().nullable(),
})

/** One for each account and instance. The tombstone keeps them. Contract: 7, Deletion orders. */
export const DeletionOrder = defineEntity({
  name: 'DeletionOrder',
  tableName: 'deletion_orders',
  uniques: [{ name: 'deletion_orders_user_origin', properties: ['userId', 'origin'] }],
  properties: {
    id: p.bigint('string').primary().autoincrement(false).defaultRaw('next_snowflake()'),
    userId: p.bigint('string'),
    origin: p.text(),
    mode: p.text().$type<DeletionMode>(),
    state: p.text().$type<OrderState>().default('waiting'),
    error: p.text().nullable(),
    attempts: p.integer().default(0),
    givenAt: p.datetime(),
    nextAttemptAt: p.datetime().nullable(),
    endedAt: p.datetime().nullable(),
    receipt: p.json<KeptReceipt>().nullable(),
  },
})
export type DeletionOrder = InferEntity<typeof DeletionOrder>

/** What a further service has not yet said it has done. Contract: 5, Deletions at further services. */
export const UpstreamDeletion = defineEntity({
  name: 'UpstreamDeletion',
  tableName: 'upstream_deletions',
  uniques: [{ name: 'upstream_deletions_user_upstream', properties: ['userId', 'upstream'] }],
  properties: {
    id: p.bigint('string').primary().autoincrement(false).defaultRaw('next_snowflake()'),
    userId: p.bigint('string'),
    upstream: p.text(),
    mode: p.text().$type<DeletionMode>(),
    error: p.text().$type<UpstreamDeletionError>().nullable(),
    attempts: p.integer().default(0),
    givenAt: p.datetime(),
    nextAttemptAt: p.datetime(),
  },
})

/** Shared by all replicas. Contract: 1, rate limits. */
export const FederationLimit = defineTable('FederationLimit', 'federation_limits', {
  name: p.text().primary(),
  key: p.text().primary(),
  requests: p.integer(),
  endsAt: p.datetime(),
})

/** Where a peer has signed within a day. Large bodies from elsewhere share few places. Contract: 7, relay. */
export const SigningNetwork = defineTable('SigningNetwork', 'signing_networks', {
  peerId: p.bigint('string').primary(),
  network: p.text().primary(),
  endsAt: p.datetime(),
})

/** Where an account has accounts elsewhere. Contract: 7, the federation registry; protocol.md 5.2. */
export const FederationRegistry = defineTable('FederationRegistry', 'federation_registries', {
  userId: p.bigint('string').primary().autoincrement(false),
  entries: p.json().$type<z.infer<typeof registryReply>['registry']>(),
  /** Milliseconds since the epoch, from the client. Only rises. */
  updatedAt: p.bigint('number'),
})
