import { z } from 'zod'
import { watchedUsers } from './constants/limits.ts'
import { closures, socketErrors, type Closure, type SocketErrorCode } from './constants/socket-errors.ts'
import { namedObject, shapeOf, snowflake, timestampMs } from './text.ts'
import { userReply, userStatus } from './users.ts'

export const clientKind = z.enum(['web', 'desktop', 'mobile'])
export type ClientKind = z.infer<typeof clientKind>

const message = <T extends string, Shape extends z.ZodRawShape>(type: T, shape: Shape) =>
  z.object({ type: z.literal(type), ...shape })

/**
 * Other values of `client` and `presences` are left out. `watched`: of its spaces the client hears of the users that it watches.
 * Spec: WebSocket handshake 2; protocol.md 5.4; docs/reference/sockets.md.
 */
export const authMessage = message('auth', {
  token: z.string(),
  client: clientKind.optional().catch(undefined),
  presences: z.literal('watched').optional().catch(undefined),
})

/** The token is revoked: the client sends `auth` with the newest one. Contract: 6, auth once more. */
export const reauthenticateMessage = message('reauthenticate', {})
/** The answer to a later `auth`. Contract: 6, auth once more. */
export const authenticatedMessage = message('authenticated', {})

export const readyMessage = message('ready', {
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
  /** Upstreams whose `ready_part` follows. docs/integrate/live-messages-and-events.md */
  incomplete: z.array(z.string()).optional(),
  ...shapeOf(['spaces', 'dmChannels', 'folders', 'readStates', 'activeCalls'], () => z.array(z.unknown())),
  spaceLayout: z.unknown(),
  layoutUpdatedAt: z.number(),
  ...shapeOf(['voiceStates', 'voiceUserStates', 'spaceVoiceStates', 'userActivities'], () =>
    z.record(z.string(), z.unknown()),
  ),
})
export type ReadyMessage = z.infer<typeof readyMessage>

/** The fields of upstreams where none gives them. Contract: 6, ready. */
export const emptyReadyParts = {
  spaces: [],
  dmChannels: [],
  folders: [],
  spaceLayout: null,
  layoutUpdatedAt: 0,
  readStates: [],
  activeCalls: [],
  voiceStates: {},
  voiceUserStates: {},
  spaceVoiceStates: {},
  userActivities: {},
} satisfies Partial<ReadyMessage>

/** The home is null for users of this instance. */
export const presenceMessage = message('presence_update', {
  userId: snowflake,
  status: userStatus,
  homeUserId: z.string().nullable(),
  homeInstance: z.string().nullable(),
})
export type PresenceMessage = z.infer<typeof presenceMessage>
/** Those of the watched users who are online. docs/reference/sockets.md */
export const presencesMessage = message('presences', { presences: z.record(snowflake, z.literal('online')) })
export type PresencesMessage = z.infer<typeof presencesMessage>
/** In the own sockets the own view. Contract: 6, user_updated. */
export const userUpdatedMessage = message('user_updated', { user: userReply })
export type UserUpdatedMessage = z.infer<typeof userUpdatedMessage>

/** `users` with `presence`: all that the client watches from now on. Contract: 6, watch; docs/reference/sockets.md. */
export const watchMessage = message('watch', {
  topic: z.enum(['admin', 'presence']),
  users: z.array(snowflake).max(watchedUsers).optional(),
}).refine(({ topic, users }) => (topic === 'presence') === (users !== undefined))

/** Ends what `watch` began. Contract: 6, watch. */
export const unwatchMessage = message('unwatch', { topic: z.literal('admin').optional() })
/** Only sockets of admins that watch get it. Contract: 6, watch. */
export const adminChangedMessage = message('admin_changed', {
  what: z.enum(['users', 'invites', 'peers', 'settings', 'registrations']),
  id: snowflake.optional(),
})
export type AdminChangedMessage = z.infer<typeof adminChangedMessage>

/** To all sockets of the account. Contract: 3, Second factor, Passkeys, Identity providers. */
export const securityNoticeMessage = message('security_notice', {
  what: z.enum([
    'second_factor_on',
    'second_factor_off',
    'second_factor_blocked',
    'passkey_added',
    'passkey_removed',
    'identity_linked',
    'identity_unlinked',
  ] as const),
  at: timestampMs,
})
export type SecurityNoticeMessage = z.infer<typeof securityNoticeMessage>

/** Costs no token of the user. Contract: 6, messages. */
export const pingMessage = message('ping', {})
export const pongMessage = message('pong', {})
/** The fields of the upstream, with any names. docs/integrate/live-messages-and-events.md */
export const readyPartMessage = z.looseObject({ type: z.literal('ready_part'), upstream: z.string() })
/** To a message for an upstream that has a `ref`, when the upstream took it: what it replied. Contract: 6, ref. */
export const replyMessage = message('reply', { ref: z.string(), reply: z.looseObject({}) })

const closing = Object.values(closures).map(({ error }) => error)
const errorCodes = [...Object.keys(socketErrors), ...closing] as [SocketErrorCode | Closure['error']]

/** `about`: the unknown type. `requestType`, `ref`: those of a message that nothing came of. Contract: 6, ref. */
export const socketErrorMessage = message('error', {
  message: z.string(),
  code: z.enum(errorCodes),
  about: z.string().optional(),
  requestType: z.string().optional(),
  ref: z.string().optional(),
})
export type SocketErrorMessage = z.infer<typeof socketErrorMessage>

/** All but those of upstreams. docs/reference/sockets.md */
export const clientMessages = [authMessage, pingMessage, watchMessage, unwatchMessage] as const
export const serverMessages = [
  readyMessage,
  readyPartMessage,
  presenceMessage,
  presencesMessage,
  userUpdatedMessage,
  adminChangedMessage,
  reauthenticateMessage,
  authenticatedMessage,
  securityNoticeMessage,
  replyMessage,
  pongMessage,
  socketErrorMessage,
] as const

/** The address is cut to its /24 or /48. Contract: 3, sockets. */
export const openSocket = namedObject('OpenSocket', {
  sessionId: z.string(),
  connectedAt: timestampMs,
  network: z.string(),
  userAgent: z.string(),
  client: clientKind.optional(),
})
export type OpenSocket = z.infer<typeof openSocket>

/** `incomplete`: a session gateway did not answer in time. Contract: 3, sockets. */
export const socketsReply = z.object({ sockets: z.array(openSocket), incomplete: z.boolean() })
