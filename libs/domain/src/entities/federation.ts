import { defineEntity, p } from '@mikro-orm/core'

const PeerSchema = defineEntity({
  name: 'Peer',
  tableName: 'peers',
  properties: {
    id: p.bigint('string').primary(),
    origin: p.text().unique(),
    /** The origin's host without port, in lower case: what a signer may speak for. */
    host: p.text(),
    secret: p.text().hidden(),
    status: p.text().$type<'pending' | 'active' | 'revoked'>(),
    instanceName: p.text().nullable(),
    instanceId: p.text().nullable(),
    createdAt: p.datetime(),
    /** While a handshake that this instance began is under way: since when. */
    offeredAt: p.datetime().nullable(),
    activatedAt: p.datetime().nullable(),
    revokedAt: p.datetime().nullable(),
  },
})

export class Peer extends PeerSchema.class {
  /** Waits, with this secret, for a handshake that begins now. */
  offer(secret: string, now: Date): void {
    this.secret = secret
    this.status = 'pending'
    this.offeredAt = now
    this.revokedAt = null
  }

  /** Is a peer from now on, with this secret. */
  activate(secret: string, now: Date): void {
    this.secret = secret
    this.status = 'active'
    this.offeredAt = null
    this.activatedAt = now
    this.revokedAt = null
  }

  /** Is no peer any more. The secret gives way to one that nobody knows. */
  revoke(unknownSecret: string, now: Date): void {
    this.secret = unknownSecret
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
    id: p.bigint('string').primary(),
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
export { ApprovalRequestSchema, PeerSchema }
