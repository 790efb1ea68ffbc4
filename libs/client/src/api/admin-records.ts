import type { User } from './records.ts'

/** Where a list goes on: `cursor` is the `nextCursor` of the page before, which is null at the end. */
export type PageQuery = { limit?: number; cursor?: string }
export type NextPage = { nextCursor: string | null }

export type InviteStatus = 'active' | 'exhausted' | 'expired' | 'revoked'

/** An invite link; times in ms, `url` ready to be copied. Contract: 4. */
export type Invite = {
  id: string
  token: string
  name: string
  status: InviteStatus
  maxUses: number | null
  usedCount: number
  expiresAt: number | null
  revokedAt: number | null
  createdBy: string | null
  createdByUsername: string | null
  createdAt: number
  lastRedeemedAt: number | null
  url: string
}

export type NewInvite = { name: string; maxUses: number | null; expiresAt: number | null }

export type InviteRedemption = {
  id: string
  userId: string | null
  registrantUsername: string
  currentUsername: string | null
  isDeleted: boolean
  redeemedAt: number
}

export type UserQuery = {
  q?: string
  page?: number
  pageSize?: number
  showDeleted?: boolean
  /** A host, or `local` for native users. */
  homeInstance?: string
  role?: 'admin' | 'user'
  sort?: 'createdAt' | '-createdAt' | 'username' | '-username'
}
export type UserPage = { users: User[]; total: number; page: number; pageSize: number }

/** `registrationOpen` null leaves the decision to the server's environment. Contract: 5. */
export type InstanceSettings = {
  instanceName: string
  registrationOpen: boolean | null
  federatedRegistrationOpen: boolean
  autoAcceptPeering: boolean
}

/** Who did what to whom, and when (ms). */
export type AuditEntry = {
  id: string
  action: string
  actorId: string | null
  actorUsername: string | null
  targetType: string
  targetId: string | null
  detail: Record<string, unknown>
  createdAt: number
}

export type Peer = {
  id: string
  origin: string
  status: 'pending' | 'active' | 'revoked'
  instanceName: string | null
  instanceId: string | null
  createdAt: number
  activatedAt: number | null
  revokedAt: number | null
}

export type ApprovalRequest = {
  id: string
  sourceOrigin: string
  instanceName: string | null
  instanceId: string | null
  status: 'pending' | 'approved' | 'denied'
  createdAt: number
}
