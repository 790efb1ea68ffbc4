import { z } from 'zod'
import { upstreamLimits } from './constants/limits.ts'
import { deletedPresence, durableEvents } from './events.ts'
import { snowflake } from './text.ts'

// Further services behind the gateway: their file, and the messages between session gateways and them.
// docs/integrating.md says the same for people.

/** Names that metrics and logs have for Gatehouse's own processes. */
const ownNames = ['gateway', 'identity', 'invite', 'session-gateway', 'federation-fanout']

/** The parts of `ready` that other services of the chat system fill. Contract: 6, `ready`. */
export const emptyReadyParts = [
  'spaces',
  'dmChannels',
  'folders',
  'spaceLayout',
  'layoutUpdatedAt',
  'readStates',
  'activeCalls',
  'voiceStates',
  'voiceUserStates',
  'spaceVoiceStates',
  'userActivities',
] as const

/** The fields of `ready` and `ready_part` that are Gatehouse's. */
const ownReadyFields: readonly string[] = [
  ...['type', 'user', 'sessionId', 'serverTime', 'instance', 'presences', 'incomplete', 'upstream'],
  ...['activePeerOrigins', 'rejectedPeerOrigins', 'awaitingApprovalPeerOrigins', 'pendingApprovalCount'],
]

/** First words of messages that are Gatehouse's, in either direction. */
const ownMessageWords: readonly string[] = [
  ...['auth', 'ping', 'pong', 'watch', 'unwatch', 'error', 'ready', 'presence', 'admin', 'gatehouse'],
]

const origin = z
  .string()
  .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), {
    error: 'must be an http or https origin such as http://127.0.0.1:9000',
    abort: true,
  })
  .refine((text) => /^https?:\/\/[^/?#@\s]+$/i.test(text), {
    error: 'must be an origin: without a path, a query or credentials',
  })

/** A path without parameters, encodings, empty and dot segments: the same for everybody who reads it. */
const prefix = z
  .string()
  .max(200)
  .regex(/^\/api(\/[A-Za-z0-9_~.@-]+)+$/, {
    error: 'must be a path below /api of letters, digits and -_.~@, without an empty segment or a slash at the end',
    abort: true,
  })
  .refine((path) => !path.split('/').some((segment) => segment === '.' || segment === '..'), {
    error: 'must not have a dot segment',
  })

/** One path prefix that an upstream owns, and who may pass. */
export const upstreamRoute = z.strictObject({
  prefix,
  access: z.enum(['anyone', 'user', 'admin']),
  bodyBytes: z.number().int().min(0).max(upstreamLimits.bodyBytesMax).default(upstreamLimits.bodyBytes),
  /** By account; for `anyone` by client address. */
  limit: z
    .strictObject({ requests: z.number().int().min(1).max(1_000_000), seconds: z.number().int().min(1).max(86_400) })
    .default({ requests: upstreamLimits.requests, seconds: upstreamLimits.seconds }),
  /** For the head of the response; without it as for Gatehouse's own services. */
  timeoutMs: z.number().int().min(100).max(upstreamLimits.timeoutMaxMs).optional(),
})

const messagePrefix = z
  .string()
  .max(64)
  .regex(/^[a-z][a-z0-9-]*\.$/, { error: 'must be a lower-case word and a dot, such as chat.', abort: true })
  .refine((text) => !ownMessageWords.includes(text.slice(0, -1)), { error: 'belongs to Gatehouse' })

const readyField = z
  .string()
  .max(64)
  .regex(/^[a-z][A-Za-z0-9]*$/, { error: 'must be a field name such as spaces or chatDrafts', abort: true })
  .refine((name) => !ownReadyFields.includes(name) && !(name in {}), { error: 'belongs to Gatehouse' })

/** The events that an upstream may have: those of docs/events.md that JetStream keeps, and no broadcasts. */
export const upstreamEvents = [...durableEvents, deletedPresence]
export const upstreamEventNames = upstreamEvents.map(({ name }) => name)

const noRepetition = (items: readonly string[]): boolean => new Set(items).size === items.length
const repeated = { error: 'names something twice' }

/** One further service. */
export const upstream = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,31}$/, { error: 'must be a lower-case name of at most 32 letters, digits and hyphens' })
    .refine((name) => !ownNames.includes(name), { error: 'is the name of a service of Gatehouse' }),
  /** Each address of a name is a replica. */
  origins: z.array(origin).min(1, { error: 'must name at least one origin' }).max(64).refine(noRepetition, repeated),
  routes: z.array(upstreamRoute).max(256),
  /** Prefixes of the socket messages that it owns, in both directions. */
  messages: z.array(messagePrefix).max(64).refine(noRepetition, repeated).default([]),
  /** The fields of `ready` that it fills. */
  ready: z.array(readyField).max(64).refine(noRepetition, repeated).default([]),
  /** Kept for it in a durable consumer of its own. */
  events: z
    .array(z.enum(upstreamEventNames, { error: 'must be an event that docs/events.md says is kept' }))
    .refine(noRepetition, repeated)
    .default([]),
})
export type Upstream = z.infer<typeof upstream>
export type UpstreamRoute = z.infer<typeof upstreamRoute>

/** What GATEHOUSE_UPSTREAMS names: a YAML or JSON file. What several entries must agree on is checked by its reader. */
export const upstreamsFile = z.strictObject({ upstreams: z.array(upstream).max(64) })

/** Subjects and names of an upstream at NATS. `prefix` is that of the bus. */
export function upstreamSubjects(name: string, prefix = 'gatehouse') {
  const subject = `${prefix}.upstream.${name}`
  return {
    message: `${subject}.message`,
    ready: `${subject}.ready`,
    deliver: `${subject}.deliver`,
    /** The durable consumer of its events. */
    consumer: `upstream_${name}`,
    /** The prefix of its inboxes: it cannot read answers that are for others. */
    inbox: `_INBOX_${name}`,
  } as const
}

/**
 * Who sent a message or is being connected: all that a question for a part of `ready` holds, and what stands beside the
 * `message` of a socket. The reply to a message is an acknowledgement.
 */
export type UpstreamCaller = {
  userId: string
  username: string
  isAdmin: boolean
  sessionId: string
  requestId: string
}

/** Any object acknowledges; one with `error` also tells the sender's socket. */
export const upstreamMessageReply = z.looseObject({ error: z.string().optional() })

/** The fields by name; those that the upstream does not own are ignored. */
export const upstreamReadyReply = z.record(z.string(), z.unknown())

const sessionIds = z.array(z.string().min(1).max(64)).max(upstreamLimits.audienceIds)
const userIds = z.array(snowflake).max(upstreamLimits.audienceIds)

/** A message to the sockets of users, to single sockets, or to all sockets of the members of a space. */
export const upstreamDelivery = z.object({
  to: z.union([
    z.strictObject({ users: userIds }),
    z.strictObject({ sessions: sessionIds }),
    z.strictObject({ space: snowflake }),
  ]),
  except: z.strictObject({ sessions: sessionIds }).optional(),
  message: z.looseObject({ type: z.string() }),
})
export type UpstreamDelivery = z.infer<typeof upstreamDelivery>

/** The error of one message: the upstream's own text, or that it could not be reached. */
export const upstreamErrorMessage = z.object({
  type: z.literal('error'),
  message: z.string(),
  requestType: z.string(),
})
