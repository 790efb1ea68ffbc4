import { z } from 'zod'
import * as limits from './constants/limits.ts'
import { snowflake, text, timestampMs } from './text.ts'
import { ownedSpaces } from './users.ts'

export const deletionMode = z.enum(['soft', 'full'], { error: 'mode must be soft or full' })
export type DeletionMode = z.infer<typeof deletionMode>

const host = text('homeInstance').min(1).max(limits.hostMax)
const homeUserId = text('homeUserId').min(1, { error: 'homeUserId is required' }).max(64)

export const deleteIdentityBody = z.object({ homeUserId, homeInstance: host, mode: deletionMode })
export const resolveStubBody = z.object({
  homeUserId,
  homeInstance: host,
  username: text('username').max(limits.federatedUsernameMax).nullish(),
  displayName: text('displayName').max(200).nullish(),
})
export const resolveStubReply = z.object({ id: snowflake })
export const epochReply = z.object({ instanceId: z.string() })

export const acceptPeerBody = z.object({
  sourceOrigin: text('sourceOrigin').max(300),
  hmacSecret: text('hmacSecret').min(32, { error: 'hmacSecret is too short' }).max(256),
  instanceName: text('instanceName').max(128).nullish(),
  instanceId: text('instanceId').max(128).nullish(),
})
export const acceptPeerReply = z.object({
  accepted: z.literal(true),
  instanceName: z.string(),
  instanceId: z.string(),
})
/** The offer waits for an admin of this instance. */
export const acceptPeerPendingReply = z.object({ accepted: z.literal(false), pending: z.literal(true) })
export const initiatePeerBody = z.object({ remoteOrigin: text('remoteOrigin').max(300) })

export const peerStatus = z.enum(['pending', 'active', 'revoked'])
export const peerReply = z.object({
  id: snowflake,
  origin: z.string(),
  status: peerStatus,
  instanceName: z.string().nullable(),
  instanceId: z.string().nullable(),
  createdAt: timestampMs,
  activatedAt: timestampMs.nullable(),
  revokedAt: timestampMs.nullable(),
})
export type PeerReply = z.infer<typeof peerReply>
export const initiatePeerReply = z.object({ peer: peerReply })
export const peersReply = z.object({ peers: z.array(peerReply) })

export const approvalRequestReply = z.object({
  id: snowflake,
  sourceOrigin: z.string(),
  instanceName: z.string().nullable(),
  instanceId: z.string().nullable(),
  status: z.enum(['pending', 'approved', 'denied']),
  createdAt: timestampMs,
})
export const approvalRequestsReply = z.object({ requests: z.array(approvalRequestReply) })

/** Spec: federation-identity/delete. Contract: 7, fan-out. */
export const fanoutBody = z.object({
  origins: z
    .array(text('origins').max(300))
    .min(1, { error: 'origins must name at least one instance' })
    .max(limits.fanoutOriginsMax, { error: `origins may name at most ${limits.fanoutOriginsMax} instances` }),
  mode: deletionMode,
})
export const fanoutResult = z.union([
  z.object({ success: z.literal(true) }),
  z.object({ success: z.literal(false), error: z.string(), ownedSpaces: ownedSpaces.optional() }),
])
export type FanoutResult = z.infer<typeof fanoutResult>
export const fanoutReply = z.object({ results: z.record(z.string(), fanoutResult) })
