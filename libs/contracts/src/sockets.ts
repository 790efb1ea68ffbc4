import { z } from 'zod'
import { snowflake, timestampMs } from './text.ts'
import { userReply, userStatus } from './users.ts'

/** The first message of a socket. Spec: WebSocket handshake 2. */
export const authMessage = z.object({ type: z.literal('auth'), token: z.string() })

/** Close codes and the message sent before them. Contract: 6. */
export const closures = {
  authenticationTimeout: { code: 4001, message: 'Authentication timeout' },
  firstMessageNotAuth: { code: 4002, message: 'First message must be auth' },
  invalidToken: { code: 4003, message: 'Invalid token' },
  tokenRevoked: { code: 4004, message: 'Token has been revoked' },
  accountDeletedAtHandshake: { code: 4005, message: 'This account has been deleted' },
  passwordReset: { code: 4010, message: 'Password reset' },
  accountDeleted: { code: 4011, message: 'Account deleted' },
  messageTooBig: { code: 1009, message: 'Message too big' },
  unavailable: { code: 1013, message: 'Service temporarily unavailable, please try again' },
  goingAway: { code: 1012, message: 'Server is restarting' },
} as const
export type Closure = (typeof closures)[keyof typeof closures]

export const readyMessage = z.object({
  type: z.literal('ready'),
  user: userReply,
  sessionId: z.string(),
  serverTime: timestampMs,
  instance: z.object({ name: z.string(), instanceId: z.string(), version: z.string() }),
  presences: z.record(snowflake, userStatus),
  spaces: z.array(z.unknown()),
  dmChannels: z.array(z.unknown()),
  folders: z.array(z.unknown()),
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
