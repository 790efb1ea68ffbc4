import { p } from '@mikro-orm/core'
import { SealedTextType } from './sealed-text.ts'
import { defineTable } from './table.ts'

export type PeerStatus =
  'pending' | 'awaiting_approval' | 'active' | 'unreachable' | 'needs_attention' | 'rejected' | 'revoked'

/** Their instances are strangers: nothing of them is compared with what they were. Contract: 7, Login repair. */
export const strangerStatuses: readonly PeerStatus[] = ['rejected', 'revoked']

/** With what existing instances call each. Contract: 7, states of a peer; protocol.md 2.3. */
export const peerReasons = {
  denied_by_admin: 'denied_by_local_admin',
  expired: null,
  denied_by_peer: 'denied_by_remote',
  expired_by_peer: 'expired_on_remote',
  refused_by_peer: 'denied_by_remote',
  revoked_by_peer: 'revoked_by_remote',
  remote_reset_required: 'stale_peering_on_remote',
  peer_reset_detected: 'peer_reset_detected',
  repeer_incomplete: 'repeer_incomplete',
  deliveries_refused: 'auth_failures',
}
type PeerReason = keyof typeof peerReasons

const PeerSchema = defineTable('Peer', 'peers', {
  id: p.bigint('string').primary().autoincrement(false),
  origin: p.text().unique('peers_origin_key'),
  /** Lower case, no port. The peer may sign for this homeInstance only. */
  host: p.text(),
  secret: p.type(SealedTextType).$type<string>().hidden(),
  status: p.text().$type<PeerStatus>(),
  reason: p.text().$type<PeerReason>().nullable(),
  instanceName: p.text().nullable(),
  instanceId: p.text().nullable(),
  createdAt: p.datetime(),
  offeredAt: p.datetime().nullable(),
  activatedAt: p.datetime().nullable(),
  revokedAt: p.datetime().nullable(),
  adminDecided: p.boolean().default(true),
  approvalTokenHash: p.text().hidden().nullable(),
  /** The token that we gave to the peer. */
  presentedToken: p.text().hidden().nullable(),
  attempts: p.integer().default(0),
  nextAttemptAt: p.datetime().nullable(),
  expiresAt: p.datetime().nullable(),
  failedDeliveries: p.integer().default(0),
  refusedDeliveries: p.integer().default(0),
  seenAt: p.datetime().nullable(),
  syncedAt: p.datetime().nullable(),
  /** Offered by our own rotation, not yet answered. */
  nextSecret: p.type(SealedTextType).$type<string>().hidden().nullable(),
  previousSecret: p.type(SealedTextType).$type<string>().hidden().nullable(),
  previousSecretUntil: p.datetime().nullable(),
  rotatedAt: p.datetime().nullable(),
  nextRotationAt: p.datetime().nullable(),
  autoRotateIntervalDays: p.integer().default(90),
  /** Milliseconds since the epoch. */
  profileCheckpoint: p.bigint('number').defaultRaw('0'),
})

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

const noOffer = { offeredAt: null, expiresAt: null, approvalTokenHash: null }
const noOtherSecrets = { nextSecret: null, previousSecret: null, previousSecretUntil: null }

export class Peer extends PeerSchema.class {
  isOffered(): boolean {
    return this.status === 'pending' || this.status === 'awaiting_approval'
  }

  isActive(): boolean {
    return this.status === 'active'
  }

  /** The preferred secret comes first. */
  secretsAt(now: number): string[] {
    const isInGrace = (this.previousSecretUntil?.getTime() ?? 0) > now
    const secrets = [this.secret, isInGrace ? this.previousSecret : null, this.nextSecret]
    return secrets.filter((secret): secret is string => !!secret)
  }

  offer(offer: { secret: string; adminDecided: boolean; presentedToken: string | null; expiresAt: Date }, now: Date) {
    const times = { offeredAt: now, nextAttemptAt: now, revokedAt: null }
    enter(this, 'pending', { ...offer, approvalTokenHash: null, ...times, ...noOtherSecrets })
  }

  awaitApproval(tokenHash: string | null): void {
    enter(this, 'awaiting_approval', { approvalTokenHash: tokenHash, expiresAt: null })
  }

  activate(secret: string, now: Date): void {
    const times = { activatedAt: now, seenAt: now, revokedAt: null, nextAttemptAt: now }
    enter(this, 'active', { secret, ...noOffer, ...times, ...noOtherSecrets })
    noteRotation(this, now)
  }

  becomeUnreachable(now: Date): void {
    enter(this, 'unreachable', { nextAttemptAt: now })
  }

  /** To a minute, so that most requests write nothing. */
  isSeenAt(now: Date): boolean {
    return now.getTime() - (this.seenAt?.getTime() ?? 0) < minuteMs
  }

  see(now: Date): void {
    if (!this.isSeenAt(now)) this.seenAt = now
  }

  reconnect(): void {
    enter(this, 'active')
  }

  park(reason: PeerReason): void {
    enter(this, 'needs_attention', { reason })
  }

  /** `replacementSecret` is never sent. */
  reject(reason: PeerReason, replacementSecret: string): void {
    enter(this, 'rejected', { reason, secret: replacementSecret, ...noOffer, presentedToken: null })
  }

  revoke(replacementSecret: string, now: Date): void {
    const times = { revokedAt: now, nextRotationAt: null }
    enter(this, 'revoked', { secret: replacementSecret, ...times, ...noOffer, presentedToken: null, ...noOtherSecrets })
  }

  takeSecret(secret: string, graceUntil: Date, now: Date): void {
    this.previousSecret = this.secret
    this.previousSecretUntil = graceUntil
    this.secret = secret
    this.nextSecret = null
    noteRotation(this, now)
  }

  rotateEvery(days: number): void {
    this.autoRotateIntervalDays = days
    if (this.rotatedAt) this.nextRotationAt = new Date(this.rotatedAt.getTime() + days * dayMs)
  }
}
PeerSchema.setClass(Peer)

// Functions, not private methods: the ORM makes instances without the constructor.
function enter(peer: Peer, status: PeerStatus, columns: Partial<Peer> = {}): void {
  const fresh = { reason: null, attempts: 0, nextAttemptAt: null, failedDeliveries: 0, refusedDeliveries: 0 }
  Object.assign(peer, { status, ...fresh, ...columns })
}

function noteRotation(peer: Peer, now: Date): void {
  peer.rotatedAt = now
  peer.nextRotationAt = new Date(now.getTime() + peer.autoRotateIntervalDays * dayMs)
}

export type ApprovalRequestStatus = 'unproven' | 'pending' | 'approved' | 'denied' | 'expired'

const ApprovalRequestSchema = defineTable('ApprovalRequest', 'approval_requests', {
  id: p.bigint('string').primary().autoincrement(false),
  sourceOrigin: p.text(),
  direction: p.text().$type<'inbound' | 'outbound'>().default('inbound'),
  /** Never put in force: it only proves the offer and signs its denial. */
  secret: p.type(SealedTextType).$type<string>().hidden().nullable(),
  approvalToken: p.text().hidden().nullable(),
  instanceName: p.text().nullable(),
  instanceId: p.text().nullable(),
  requestedBy: p.bigint('string').nullable(),
  status: p.text().$type<ApprovalRequestStatus>().default('pending'),
  createdAt: p.datetime(),
  expiresAt: p.datetime(),
  decidedAt: p.datetime().nullable(),
  decidedBy: p.bigint('string').nullable(),
  attempts: p.integer().default(0),
  nextAttemptAt: p.datetime().nullable(),
})

export class ApprovalRequest extends ApprovalRequestSchema.class {
  decide(status: 'approved' | 'denied', adminId: string | null, now: Date): void {
    endRequest(this, status, now)
    this.decidedBy = adminId
  }

  expire(now: Date): void {
    endRequest(this, 'expired', now)
  }
}
ApprovalRequestSchema.setClass(ApprovalRequest)

function endRequest(request: ApprovalRequest, status: ApprovalRequestStatus, now: Date): void {
  const nextAttemptAt = status !== 'approved' && request.secret ? now : null
  Object.assign(request, { status, decidedAt: now, attempts: 0, nextAttemptAt })
}
