import { defineEntity, p } from '@mikro-orm/core'

export type PeerStatus =
  'pending' | 'awaiting_approval' | 'active' | 'unreachable' | 'needs_attention' | 'rejected' | 'revoked'

/** Why a peer is in its state, where the state has more than one cause. Contract: 7, states of a peer. */
export type PeerReason =
  | 'denied_by_admin'
  | 'expired'
  | 'denied_by_peer'
  | 'refused_by_peer'
  | 'remote_reset_required'
  | 'peer_reset_detected'
  | 'repeer_incomplete'
  | 'deliveries_refused'

const PeerSchema = defineEntity({
  name: 'Peer',
  tableName: 'peers',
  properties: {
    id: p.bigint('string').primary().autoincrement(false),
    origin: p.text().unique('peers_origin_key'),
    /** The origin's host without port, in lower case: the only homeInstance that this peer may sign for. */
    host: p.text(),
    secret: p.text().hidden(),
    status: p.text().$type<PeerStatus>(),
    reason: p.text().$type<PeerReason>().nullable(),
    instanceName: p.text().nullable(),
    instanceId: p.text().nullable(),
    createdAt: p.datetime(),
    /** Start of the handshake that this instance initiated; null when none is pending. */
    offeredAt: p.datetime().nullable(),
    activatedAt: p.datetime().nullable(),
    revokedAt: p.datetime().nullable(),
    /** Whether an admin here asked for this handshake, and not a user or the setting autoAcceptPeering. */
    adminDecided: p.boolean().default(true),
    /** SHA-256 of the approvalToken in the 202 that the peer answered to our offer. */
    approvalTokenHash: p.text().hidden().nullable(),
    /** The approvalToken that we gave to the peer and that our own offer presents. */
    presentedToken: p.text().hidden().nullable(),
    /** Attempts at what the state has to send, since it last succeeded. */
    attempts: p.integer().default(0),
    /** When the state's message is sent next; null when there is none to send. */
    nextAttemptAt: p.datetime().nullable(),
    /** When a pending handshake is given up. */
    expiresAt: p.datetime().nullable(),
    failedDeliveries: p.integer().default(0),
    refusedDeliveries: p.integer().default(0),
    /** Offered by a rotation of ours whose answer has not come. */
    nextSecret: p.text().hidden().nullable(),
    previousSecret: p.text().hidden().nullable(),
    previousSecretUntil: p.datetime().nullable(),
    rotatedAt: p.datetime().nullable(),
    nextRotationAt: p.datetime().nullable(),
    autoRotateIntervalDays: p.integer().default(90),
    /** Milliseconds since the epoch: up to here the profiles of the peer were read by sync. */
    profileCheckpoint: p.bigint('number').defaultRaw('0'),
  },
})

const dayMs = 24 * 60 * 60_000

export class Peer extends PeerSchema.class {
  /** Whether messages between the instances may be exchanged in both directions. */
  isActive(): boolean {
    return this.status === 'active'
  }

  /** Every secret that a signature may be made with at this time, the preferred one first. */
  secretsAt(now: number): string[] {
    const isInGrace = this.previousSecretUntil !== null && (this.previousSecretUntil?.getTime() ?? 0) > now
    const secrets = [this.secret, isInGrace ? this.previousSecret : null, this.nextSecret]
    return secrets.filter((secret): secret is string => typeof secret === 'string' && secret !== '')
  }

  /** Starts a handshake with this secret: its offer is due at once. */
  offer(offer: { secret: string; adminDecided: boolean; presentedToken?: string | null; expiresAt: Date }, now: Date) {
    enter(this, 'pending', null)
    this.secret = offer.secret
    this.adminDecided = offer.adminDecided
    this.presentedToken = offer.presentedToken ?? null
    this.approvalTokenHash = null
    this.offeredAt = now
    this.expiresAt = offer.expiresAt
    this.nextAttemptAt = now
    this.revokedAt = null
    dropOtherSecrets(this)
  }

  /** The peer's admin decides; its own offer will present the token. Nothing is sent and no time ends it. */
  awaitApproval(tokenHash: string | null): void {
    enter(this, 'awaiting_approval', null)
    this.approvalTokenHash = tokenHash
    this.expiresAt = null
  }

  /** Ends the handshake: requests signed with this secret count from now on. */
  activate(secret: string, now: Date): void {
    enter(this, 'active', null)
    this.secret = secret
    this.offeredAt = null
    this.expiresAt = null
    this.approvalTokenHash = null
    this.activatedAt = now
    this.revokedAt = null
    this.nextAttemptAt = now
    dropOtherSecrets(this)
    noteRotation(this, now)
  }

  /** Deliveries fail: they wait, and the peer is probed until it answers. */
  becomeUnreachable(now: Date): void {
    enter(this, 'unreachable', null)
    this.nextAttemptAt = now
  }

  /** A probe of an unreachable peer succeeded. */
  reconnect(): void {
    enter(this, 'active', null)
    this.failedDeliveries = 0
    this.refusedDeliveries = 0
  }

  /** Stopped until an admin resets or rechecks it. */
  park(reason: PeerReason): void {
    enter(this, 'needs_attention', reason)
  }

  /** The handshake is over without a peering. The secret is replaced by one that is never sent. */
  reject(reason: PeerReason, replacementSecret: string): void {
    enter(this, 'rejected', reason)
    this.secret = replacementSecret
    endHandshake(this)
  }

  /** Ends the peering. The secret is replaced by a random one that is never sent. */
  revoke(replacementSecret: string, now: Date): void {
    enter(this, 'revoked', null)
    this.secret = replacementSecret
    this.revokedAt = now
    this.nextRotationAt = null
    endHandshake(this)
    dropOtherSecrets(this)
  }

  /** The peer told a new secret; the one before counts until `graceUntil`. */
  takeSecret(secret: string, graceUntil: Date, now: Date): void {
    this.previousSecret = this.secret
    this.previousSecretUntil = graceUntil
    this.secret = secret
    this.nextSecret = null
    noteRotation(this, now)
  }

  /** How often its secret is rotated, counted from the last rotation. */
  rotateEvery(days: number): void {
    this.autoRotateIntervalDays = days
    if (this.rotatedAt) this.nextRotationAt = new Date(this.rotatedAt.getTime() + days * dayMs)
  }
}
PeerSchema.setClass(Peer)

// No private methods: the ORM makes instances without calling the constructor, which they need.
function enter(peer: Peer, status: PeerStatus, reason: PeerReason | null): void {
  peer.status = status
  peer.reason = reason
  peer.attempts = 0
  peer.nextAttemptAt = null
  peer.failedDeliveries = 0
  peer.refusedDeliveries = 0
}

function endHandshake(peer: Peer): void {
  peer.offeredAt = null
  peer.expiresAt = null
  peer.approvalTokenHash = null
  peer.presentedToken = null
}

function dropOtherSecrets(peer: Peer): void {
  peer.nextSecret = null
  peer.previousSecret = null
  peer.previousSecretUntil = null
}

function noteRotation(peer: Peer, now: Date): void {
  peer.rotatedAt = now
  peer.nextRotationAt = new Date(now.getTime() + peer.autoRotateIntervalDays * dayMs)
}

/** `unproven`: an offer whose proof failed for want of an answer; `pending`: it waits for an admin. */
export type ApprovalRequestStatus = 'unproven' | 'pending' | 'approved' | 'denied' | 'expired'

const ApprovalRequestSchema = defineEntity({
  name: 'ApprovalRequest',
  tableName: 'approval_requests',
  properties: {
    id: p.bigint('string').primary().autoincrement(false),
    sourceOrigin: p.text(),
    /** Inbound: another instance's offer. Outbound: the wish of a user of this instance. */
    direction: p.text().$type<'inbound' | 'outbound'>().default('inbound'),
    /** The offered secret, which is never put in force: it proves the offer and signs its denial. */
    secret: p.text().hidden().nullable(),
    /** The token of our 202, which our own offer has to present. */
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
    /** When the state's message is sent next (a proof, a denial); null when there is none to send. */
    nextAttemptAt: p.datetime().nullable(),
  },
})

export class ApprovalRequest extends ApprovalRequestSchema.class {
  decide(status: 'approved' | 'denied', adminId: string | null, now: Date): void {
    endRequest(this, status, now)
    this.decidedBy = adminId
  }

  /** The time for a decision ended. The other instance is told like of a denial. */
  expire(now: Date): void {
    endRequest(this, 'expired', now)
  }
}
ApprovalRequestSchema.setClass(ApprovalRequest)

function endRequest(request: ApprovalRequest, status: ApprovalRequestStatus, now: Date): void {
  request.status = status
  request.decidedAt = now
  request.attempts = 0
  request.nextAttemptAt = status !== 'approved' && request.secret ? now : null
}
export { ApprovalRequestSchema, PeerSchema }
