import { defineEntity, p } from '@mikro-orm/core'

/** A nonce that a signed request has used, kept until no request with it can be fresh. Contract: 7. */
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

/** Who the instance at an origin was that an admin has reset, until it is a peer again. Contract: 7, detached accounts. */
const PeerResetSchema = defineEntity({
  name: 'PeerReset',
  tableName: 'peer_resets',
  properties: {
    origin: p.text().primary(),
    host: p.text(),
    instanceId: p.text(),
    /** The instance that has come in its place: the accounts of the former one are to be detached. */
    newInstanceId: p.text().nullable(),
    attempts: p.integer().default(0),
    nextAttemptAt: p.datetime().nullable(),
    /** When another instance was first seen there, by the database's clock; null where only its activation showed it. */
    seenAt: p.datetime().nullable(),
  },
})

export class PeerReset extends PeerResetSchema.class {}
PeerResetSchema.setClass(PeerReset)

/** A user's profile that a peer has not got yet: one row for both, whatever changed. Contract: 7. */
const FederationDeliverySchema = defineEntity({
  name: 'FederationDelivery',
  tableName: 'federation_deliveries',
  properties: {
    peerId: p.bigint('string').primary(),
    userId: p.bigint('string').primary(),
    /** profileUpdatedAt when it was queued: a later change makes it another delivery. */
    version: p.bigint('number'),
    attempts: p.integer().default(0),
    nextAttemptAt: p.datetime(),
    expiresAt: p.datetime(),
  },
})

export class FederationDelivery extends FederationDeliverySchema.class {}
FederationDeliverySchema.setClass(FederationDelivery)

/** A proof that a user is at home here, for one other instance, once. federation-wire.md 4, attach. */
const AttachProofSchema = defineEntity({
  name: 'AttachProof',
  tableName: 'attach_proofs',
  properties: {
    /** SHA-256 of the token in hex. */
    tokenHash: p.text().primary(),
    userId: p.bigint('string'),
    /** In lower case, without port. */
    targetDomain: p.text(),
    expiresAt: p.datetime(),
  },
})

export class AttachProof extends AttachProofSchema.class {}
AttachProofSchema.setClass(AttachProof)

/** The requests of one key in the present window of a limit, counted for all replicas. Contract: 7. */
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
