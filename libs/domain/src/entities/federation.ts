import { defineEntity, p } from '@mikro-orm/core'

const PeerSchema = defineEntity({
  name: 'Peer',
  tableName: 'peers',
  properties: {
    id: p.bigint('string').primary().autoincrement(false),
    origin: p.text().unique('peers_origin_key'),
    /** The origin's host without port, in lower case: the only homeInstance that this peer may sign for. */
    host: p.text(),
    secret: p.text().hidden(),
    status: p.text().$type<'pending' | 'active' | 'revoked'>(),
    instanceName: p.text().nullable(),
    instanceId: p.text().nullable(),
    createdAt: p.datetime(),
    /** Start of a handshake that this instance initiated; null when none is pending. */
    offeredAt: p.datetime().nullable(),
    activatedAt: p.datetime().nullable(),
    revokedAt: p.datetime().nullable(),
  },
})

export class Peer extends PeerSchema.class {
  /** Starts a handshake with this secret. */
  offer(secret: string, now: Date): void {
    this.secret = secret
    this.status = 'pending'
    this.offeredAt = now
    this.revokedAt = null
  }

  /** Ends the handshake: requests signed with this secret count from now on. */
  activate(secret: string, now: Date): void {
    this.secret = secret
    this.status = 'active'
    this.offeredAt = null
    this.activatedAt = now
    this.revokedAt = null
  }

  /** Ends the peering. The secret is replaced by a random one that is never sent. */
  revoke(replacementSecret: string, now: Date): void {
    this.secret = replacementSecret
    this.status = 'revoked'
    this.offeredAt = null
    this.revokedAt = now
  }
}
PeerSchema.setClass(Peer)

const ApprovalRequestSchema = defineEntity({
  name: 'ApprovalRequest',
  tableName: 'approval_requests',
  properties: {
    id: p.bigint('string').primary().autoincrement(false),
    sourceOrigin: p.text(),
    secret: p.text().hidden(),
    instanceName: p.text().nullable(),
    instanceId: p.text().nullable(),
    status: p.text().$type<'pending' | 'approved' | 'denied'>().default('pending'),
    createdAt: p.datetime(),
    decidedAt: p.datetime().nullable(),
    decidedBy: p.bigint('string').nullable(),
  },
})

export class ApprovalRequest extends ApprovalRequestSchema.class {
  decide(status: 'approved' | 'denied', adminId: string, now: Date): void {
    this.status = status
    this.decidedBy = adminId
    this.decidedAt = now
  }
}
ApprovalRequestSchema.setClass(ApprovalRequest)

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
export { ApprovalRequestSchema, FederationNonceSchema, PeerSchema }
