import { z } from 'zod'
import { snowflake, timestampMs } from './text.ts'
import { userReply, userStatus } from './users.ts'

/** Spec: WebSocket handshake 2. */
export const authMessage = z.object({ type: z.literal('auth'), token: z.string() })

export const readyMessage = z.object({
  type: z.literal('ready'),
  user: userReply,
  sessionId: z.string(),
  serverTime: timestampMs,
  instance: z.object({ name: z.string(), instanceId: z.string(), version: z.string() }),
  presences: z.record(snowflake, userStatus),
  /** By state. Contract: 7, states of a peer. */
  activePeerOrigins: z.array(z.string()),
  rejectedPeerOrigins: z.array(z.string()),
  awaitingApprovalPeerOrigins: z.array(z.string()),
  pendingApprovalCount: z.number().int().optional(),
  /** Upstreams whose `ready_part` follows. docs/integrating.md */
  incomplete: z.array(z.string()).optional(),
  spaces: z.array(z.unknown()),
  dmChannels: z.array(z.unknown()),
  folders: z.array(z.unknown()),
  spaceLayout: z.unknown(),
  layoutUpdatedAt: z.number(),
  readStates: z.array(z.unknown()),
  activeCalls: z.array(z.unknown()),
  voiceStates: z.record(z.string(), z.unknown()),
  voiceUserStates: z.record(z.string(), z.unknown()),
  spaceVoiceStates: z.record(z.string(), z.unknown()),
  userActivities: z.record(z.string(), z.unknown()),
})
export type ReadyMessage = z.infer<typeof readyMessage>

export const presenceMessage = z.object({ type: z.literal('presence_update'), userId: snowflake, status: userStatus })
export type PresenceMessage = z.infer<typeof presenceMessage>

/** Contract: 6, watch. */
export const watchMessage = z.object({ type: z.literal('watch'), topic: z.literal('admin') })

/** Contract: 6, unwatch. */
export const unwatchMessage = z.object({ type: z.literal('unwatch'), topic: z.literal('admin').optional() })

/** Contract: 6, watch. */
export const adminChangedMessage = z.object({
  type: z.literal('admin_changed'),
  what: z.enum(['users', 'invites', 'peers', 'settings']),
  id: snowflake.optional(),
})
export type AdminChangedMessage = z.infer<typeof adminChangedMessage>

/** The address is cut to its /24 or /48. Contract: 3, sockets. */
export const openSocket = z
  .object({
    sessionId: z.string(),
    connectedAt: timestampMs,
    network: z.string(),
    userAgent: z.string(),
  })
  .meta({ id: 'OpenSocket' })
export type OpenSocket = z.infer<typeof openSocket>

/** `incomplete`: a session gateway did not answer in time. Contract: 3, sockets. */
export const socketsReply = z.object({ sockets: z.array(openSocket), incomplete: z.boolean() })
