import { defineEntity, p } from '@mikro-orm/core'

/** Contract: 7. */
const FederationNonceSchema = defineEntity({
  name: 'FederationNonce',
  tableName: 'federation_nonces',
  properties: {
    origin: p.text().primary(),
    nonce: p.text().primary(),
    expiresAt: p.datetime(),
  },
})

export class FederationNonce extends FederationNonceSchema.class {}
FederationNonceSchema.setClass(FederationNonce)

/** Contract: 7, detached accounts. */
const PeerResetSchema = defineEntity({
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

export class PeerReset extends PeerResetSchema.class {}
PeerResetSchema.setClass(PeerReset)

/** One row for each peer and user. Contract: 7. */
const FederationDeliverySchema = defineEntity({
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

export class FederationDelivery extends FederationDeliverySchema.class {}
FederationDeliverySchema.setClass(FederationDelivery)

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

/** Shared by all replicas. Contract: 7. */
const FederationLimitSchema = defineEntity({
  name: 'FederationLimit',
  tableName: 'federation_limits',
  properties: {
    name: p.text().primary(),
    key: p.text().primary(),
    requests: p.integer(),
    endsAt: p.datetime(),
  },
})

export class FederationLimit extends FederationLimitSchema.class {}
FederationLimitSchema.setClass(FederationLimit)
export { AttachProofSchema, FederationDeliverySchema, FederationLimitSchema, FederationNonceSchema, PeerResetSchema }
