import { z } from 'zod'
import * as limits from './constants/limits.ts'
import { hexadecimal, namedObject, snowflake, text, timestampMs } from './text.ts'
import { ownedSpaces, successReply } from './users.ts'

export const deletionMode = z
  .enum(['soft', 'full'], { error: 'mode must be soft or full' })
  .meta({ id: 'DeletionMode' })
export type DeletionMode = z.infer<typeof deletionMode>

const ofHome = {
  homeUserId: text('homeUserId').min(1, { error: 'homeUserId is required' }).max(64),
  homeInstance: text('homeInstance').min(1).max(limits.hostMax),
}

/** What an instance says that it deleted, at `deletedAt` (ms). `origin` is its own. Contract: 7, Receipts. */
const receipt = z
  .object({ homeUserId: z.string().max(64), mode: deletionMode, deletedAt: timestampMs, origin: z.string().max(300) })
  .meta({ id: 'Receipt' })
export type Receipt = z.infer<typeof receipt>
export const signedReceipt = namedObject('SignedReceipt', { receipt, signature: z.string().max(100) })
/** `publicKey` was published by the instance when it signed. */
export const keptReceipt = signedReceipt.extend({ publicKey: z.string().max(64) }).meta({ id: 'KeptReceipt' })
export type KeptReceipt = z.infer<typeof keptReceipt>
export const deleteIdentityReply = successReply.extend(signedReceipt.shape)
export const receiptKeysReply = namedObject('ReceiptKeys', { keys: z.array(z.string()).max(100) })

/** `mode`: of the orders at peers. Contract: 5, DELETE users. */
export const deleteUserBody = z.object({ mode: deletionMode.default('soft') })
/** `instances`: how many peers are asked to delete the account there. */
export const deleteUserReply = successReply.extend({ instances: z.int() }).meta({ id: 'DeletedUser' })
export const deleteIdentityBody = z.object({ ...ofHome, mode: deletionMode })
export const resolveStubBody = z.object({
  ...ofHome,
  username: text('username').max(limits.federatedUsernameMax).nullish(),
  displayName: text('displayName').max(200).nullish(),
})
export const resolveStubReply = namedObject('Stub', { id: snowflake })

export const acceptPeerBody = z.object({
  sourceOrigin: text('sourceOrigin').max(300),
  hmacSecret: hexadecimal('hmacSecret'),
  instanceName: text('instanceName').max(128).nullish(),
  instanceId: text('instanceId').max(128).nullish(),
  approvalToken: text('approvalToken').max(256).nullish(),
})
export const acceptPeerReply = z.object({ accepted: z.literal(true), instanceName: z.string(), instanceId: z.string() })
export const acceptPeerPendingReply = z.object({
  queued: z.literal(true),
  message: z.string(),
  approvalToken: z.string(),
})
export const remoteOriginBody = namedObject('RemoteOrigin', { remoteOrigin: text('remoteOrigin').max(300) })
/** Absent: `instance_connect`. */
export const ensurePeerBody = remoteOriginBody
  .extend({ reason: z.literal('instance_connect', { error: 'reason must be instance_connect' }).optional() })
  .meta({ id: 'EnsuredPeer' })
export const deniedBody = z.object({ reason: z.string().max(64).nullish(), message: z.string().max(2_000).nullish() })
export const deniedReply = z.object({ acknowledged: z.literal(true) })
export const rotateBody = z.object({ newSecret: hexadecimal('newSecret') })
export const rotateReply = z.object({ accepted: z.literal(true), gracePeriodMs: z.number().int() })
export const epochReply = z.object({ instanceId: z.uuid() })

export const peerStatus = z.enum([
  'pending',
  'awaiting_approval',
  'active',
  'unreachable',
  'needs_attention',
  'rejected',
  'revoked',
] as const)
export const peerReply = namedObject('Peer', {
  id: snowflake,
  origin: z.string(),
  status: peerStatus,
  reason: z.string().nullable(),
  /** `reason` in the words of existing instances. */
  statusReason: z.string().nullable(),
  instanceName: z.string().nullable(),
  instanceId: z.string().nullable(),
  createdAt: timestampMs,
  activatedAt: timestampMs.nullable(),
  revokedAt: timestampMs.nullable(),
  rotatedAt: timestampMs.nullable(),
  autoRotateIntervalDays: z.number().int(),
  /** Its last signed request, or its last answer to one of ours; to a minute. */
  lastSeenAt: timestampMs.nullable().optional(),
  /** When all its profiles were read last. */
  lastSyncedAt: timestampMs.nullable().optional(),
  /** Deliveries in a row that failed or were refused. */
  failuresInRow: z.int().optional(),
  /** Deletion orders without an answer in 30 days. In lists only. */
  ordersOverdue: z.int().optional(),
})
export type PeerReply = z.infer<typeof peerReply>
export const onePeerReply = namedObject('OnePeer', { peer: peerReply })
export const peersReply = z.object({ peers: z.array(peerReply) })
export const patchPeerBody = z.object({
  autoRotateIntervalDays: z
    .number({ error: 'autoRotateIntervalDays must be a number of days' })
    .int({ error: 'autoRotateIntervalDays must be a whole number' })
    .min(1, { error: 'autoRotateIntervalDays must be at least 1' })
    .max(365, { error: 'autoRotateIntervalDays must be at most 365' }),
})

export const ensurePeerReply = z.object({
  peeringStatus: z.enum(['active', 'pending', 'awaiting_approval', 'rejected', 'admin_required']),
  peerId: snowflake.optional(),
  error: z.string().optional(),
})

export const approvalRequestReply = namedObject('ApprovalRequest', {
  id: snowflake,
  origin: z.string(),
  direction: z.enum(['inbound', 'outbound']),
  instanceName: z.string().nullable(),
  requestedAt: timestampMs,
  expiresAt: timestampMs,
})
export const approvalRequestsReply = z.object({ requests: z.array(approvalRequestReply) })

export const fanoutMode = z.enum(['leave', 'soft', 'full'], { error: 'mode must be leave, soft or full' })
/** Spec: federation-identity/delete. Contract: 7, fan-out; `leave` only forgets the instance. */
export const fanoutBody = z.object({
  origins: z
    .array(text('origins').max(300))
    .min(1, { error: 'origins must name at least one instance' })
    .max(limits.fanoutOriginsMax, { error: `origins may name at most ${limits.fanoutOriginsMax} instances` }),
  mode: fanoutMode,
  durable: z.boolean({ error: 'durable must be true or false' }).optional(),
})
export const fanoutResult = z
  .union([
    successReply.extend({ receipt: keptReceipt.optional() }),
    z.object({
      success: z.literal(false),
      error: z.string(),
      ownedSpaces: ownedSpaces.optional(),
      /** It is tried again. Contract: 7, Deletion orders. */
      order: z.literal('waiting').optional(),
    }),
  ])
  .meta({ id: 'IdentityDeletion' })
export type FanoutResult = z.infer<typeof fanoutResult>
export const fanoutReply = z.object({ results: z.record(z.string(), fanoutResult) })

/** `overdue`: without an answer in 30 days, and tried no more. Times in ms. Contract: 7, Deletion orders. */
const orderFields = z.object({
  origin: z.string(),
  mode: deletionMode,
  state: z.enum(['waiting', 'done', 'refused', 'overdue']).meta({ id: 'OrderState' }),
  error: z.string().nullable(),
  attempts: z.int(),
  givenAt: timestampMs,
  nextAttemptAt: timestampMs.nullable(),
  endedAt: timestampMs.nullable(),
  /** Null: a peer that signs nothing has acknowledged it, or it has not ended. */
  receipt: keptReceipt.nullable(),
})
export type OrderState = z.infer<typeof orderFields>['state']
export const deletionOrder = orderFields.meta({ id: 'DeletionOrder' })
export const deletionOrdersReply = z.object({ orders: z.array(deletionOrder) })
export const openOrdersReply = z.object({
  orders: z.array(
    orderFields.omit({ receipt: true }).extend({ id: snowflake, userId: snowflake }).meta({ id: 'OpenDeletionOrder' }),
  ),
  nextCursor: snowflake.nullable(),
})
