import type { DeletionMode, KeptReceipt, OrderState, UpstreamDeletionError, registryReply } from '@gatehouse/contracts'
import { defineEntity, p } from '@mikro-orm/core'
import type { z } from 'zod'

/** Contract: 7. */
export const FederationNonceSchema = defineEntity({
  name: 'FederationNonce',
  tableName: 'federation_nonces',
  properties: {
    origin: p.text().primary(),
    nonce: p.text().primary(),
    expiresAt: p.datetime(),
  },
})

/** Contract: 7, detached accounts. */
export const PeerResetSchema = defineEntity({
  name: 'PeerReset',
  tableName: 'peer_resets',
  properties: {
    origin: p.text().primary(),
    host: p.text(),
    instanceId: p.text(),
    newInstanceId: p.text().nullable(),
    attempts: p.integer().default(0),
    nextAttemptAt: p.datetime().nullable(),
    /** By the database's clock. Null: only activation showed it. */
    seenAt: p.datetime().nullable(),
  },
})

/** One row for each peer and user. Contract: 7. */
export const FederationDeliverySchema = defineEntity({
  name: 'FederationDelivery',
  tableName: 'federation_deliveries',
  properties: {
    peerId: p.bigint('string').primary(),
    userId: p.bigint('string').primary(),
    /** profileUpdatedAt when queued. */
    version: p.bigint('number'),
    attempts: p.integer().default(0),
    nextAttemptAt: p.datetime(),
    expiresAt: p.datetime(),
  },
})

/** The hosts on which a native user names an account; triggers keep it. Contract: 7, profiles. */
export const ReplicaHostSchema = defineEntity({
  name: 'ReplicaHost',
  tableName: 'replica_hosts',
  properties: {
    /** Lower case, without port. */
    host: p.text().primary(),
    profileUpdatedAt: p.bigint('number').primary(),
    userId: p.bigint('string').primary(),
  },
})

/** For one other instance, once. federation-wire.md 4, attach. */
const AttachProofSchema = defineEntity({
  name: 'AttachProof',
  tableName: 'attach_proofs',
  properties: {
    tokenHash: p.text().primary(),
    userId: p.bigint('string'),
    targetDomain: p.text(),
    expiresAt: p.datetime(),
  },
})

export class AttachProof extends AttachProofSchema.class {}
AttachProofSchema.setClass(AttachProof)

/** Password of the user's account at another instance, encrypted. federation-wire-2.md 3.1. */
const FederationCredentialSchema = defineEntity({
  name: 'FederationCredential',
  tableName: 'federation_credentials',
  properties: {
    userId: p.bigint('string').primary(),
    origin: p.text().primary(),
    secret: p.text().hidden(),
    createdAt: p.datetime(),
    provisionedAt: p.datetime().nullable(),
  },
})

export class FederationCredential extends FederationCredentialSchema.class {}
FederationCredentialSchema.setClass(FederationCredential)

/** One for each account and instance. The tombstone keeps them. Contract: 7, Deletion orders. */
const DeletionOrderSchema = defineEntity({
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

export class DeletionOrder extends DeletionOrderSchema.class {}
DeletionOrderSchema.setClass(DeletionOrder)

/** What a further service has not yet said it has done. Contract: 5, Deletions at further services. */
const UpstreamDeletionSchema = defineEntity({
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

export class UpstreamDeletion extends UpstreamDeletionSchema.class {}
UpstreamDeletionSchema.setClass(UpstreamDeletion)

/** Shared by all replicas. Contract: 7. */
export const FederationLimitSchema = defineEntity({
  name: 'FederationLimit',
  tableName: 'federation_limits',
  properties: {
    name: p.text().primary(),
    key: p.text().primary(),
    requests: p.integer(),
    endsAt: p.datetime(),
  },
})

/** Contract: 7, relay. */
export const SigningNetworkSchema = defineEntity({
  name: 'SigningNetwork',
  tableName: 'signing_networks',
  properties: {
    peerId: p.bigint('string').primary(),
    network: p.text().primary(),
    endsAt: p.datetime(),
  },
})

type Registry = z.infer<typeof registryReply>['registry']

const FederationRegistrySchema = defineEntity({
  name: 'FederationRegistry',
  tableName: 'federation_registries',
  properties: {
    userId: p.bigint('string').primary().autoincrement(false),
    entries: p.json().$type<Registry>(),
    /** Milliseconds since the epoch, from the client. Only rises. */
    updatedAt: p.bigint('number'),
  },
})

/** Contract: 7; federation-wire.md 5. */
export class FederationRegistry extends FederationRegistrySchema.class {}
FederationRegistrySchema.setClass(FederationRegistry)
