import {
  deletedPresence,
  durableEvents,
  serviceNames,
  snowflake,
  upstreamLimits,
  upstreamRights,
} from '@gatehouse/contracts'
import { z } from 'zod'
import { upstreamQuestionNames, upstreamQuestions, type UpstreamQuestionName } from './questions.ts'

// For people: docs/integrate/start.md

const ownNames: readonly string[] = ['gateway', ...serviceNames]
const ownReadyFields: readonly string[] = [
  'type',
  'user',
  'sessionId',
  'serverTime',
  'instance',
  'presences',
  'incomplete',
  'upstream',
  'activePeerOrigins',
  'rejectedPeerOrigins',
  'awaitingApprovalPeerOrigins',
  'pendingApprovalCount',
]
const ownMessageWords = 'auth ping pong watch unwatch error ready presence admin gatehouse'.split(' ')

const origin = z
  .string()
  .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), {
    error: 'must be an http or https origin such as http://127.0.0.1:9000',
    abort: true,
  })
  .refine((text) => /^https?:\/\/[^/?#@\s]+$/i.test(text), {
    error: 'must be an origin: without a path, a query or credentials',
  })

/** Every reader must see the same path: no parameters, encodings or dot segments. */
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

export const upstreamRoute = z.strictObject({
  prefix,
  access: z.enum(['anyone', 'user', 'admin']),
  bodyBytes: z.number().int().min(0).max(upstreamLimits.bodyBytesMax).default(upstreamLimits.bodyBytes),
  limit: z
    .strictObject({ requests: z.number().int().min(1).max(1_000_000), seconds: z.number().int().min(1).max(86_400) })
    .default({ requests: upstreamLimits.requests, seconds: upstreamLimits.seconds }),
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

/** The events that JetStream keeps. See docs/reference/events.md. */
export const upstreamEvents = [...durableEvents, deletedPresence]
export const upstreamEventNames = upstreamEvents.map(({ name }) => name)

const noRepetition = (items: readonly string[]): boolean => new Set(items).size === items.length
const repeated = { error: 'names something twice' }

/** What it may ask Gatehouse, and the key of its statements. */
const asks = z.strictObject({
  key: z.string().regex(/^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/, {
    error: 'must be the 32 bytes of an Ed25519 public key in base64url',
  }),
  rights: z.array(z.enum(upstreamRights)).min(1).refine(noRepetition, repeated),
})

export const upstream = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,31}$/, { error: 'must be a lower-case name of at most 32 letters, digits and hyphens' })
    .refine((name) => !ownNames.includes(name), { error: 'is the name of a service of Gatehouse' }),
  origins: z.array(origin).min(1, { error: 'must name at least one origin' }).max(64).refine(noRepetition, repeated),
  routes: z.array(upstreamRoute).max(256),
  messages: z.array(messagePrefix).max(64).refine(noRepetition, repeated).default([]),
  ready: z.array(readyField).max(64).refine(noRepetition, repeated).default([]),
  events: z
    .array(z.enum(upstreamEventNames, { error: 'must be an event that docs/reference/events.md says is kept' }))
    .refine(noRepetition, repeated)
    .default([]),
  asks: asks.optional(),
  answers: z.array(z.enum(upstreamQuestionNames)).refine(noRepetition, repeated).default([]),
})
export type Upstream = z.infer<typeof upstream>
export type UpstreamRoute = z.infer<typeof upstreamRoute>

/** A YAML or JSON file. The reader checks what entries must agree on. */
export const upstreamsFile = z.strictObject({ upstreams: z.array(upstream).max(64) })

export function upstreamSubjects(name: string, prefix = 'gatehouse') {
  const subject = `${prefix}.upstream.${name}`
  return {
    message: `${subject}.message`,
    ready: `${subject}.ready`,
    deliver: `${subject}.deliver`,
    question: (name: UpstreamQuestionName) => `${subject}.${upstreamQuestions[name].subject}`,
    consumer: `upstream_${name}`,
    /** Its own prefix: it cannot read answers for others. */
    inbox: `_INBOX_${name}`,
  } as const
}

export type UpstreamCaller = {
  userId: string
  username: string
  isAdmin: boolean
  sessionId: string
  requestId: string
}

export const upstreamMessageReply = z.looseObject({ error: z.string().optional() })
export const upstreamReadyReply = z.record(z.string(), z.unknown())

const sessionIds = z.array(z.string().min(1).max(64)).max(upstreamLimits.audienceIds)
const userIds = z.array(snowflake).max(upstreamLimits.audienceIds)

export const upstreamDelivery = z.object({
  to: z.union([
    z.strictObject({ users: userIds }),
    z.strictObject({ sessions: sessionIds }),
    z.strictObject({ space: z.string().min(1).max(64) }),
  ]),
  except: z.strictObject({ sessions: sessionIds }).optional(),
  /** Judged when it is delivered. */
  access: z.literal('admin').optional(),
  message: z.looseObject({ type: z.string() }),
})
export type UpstreamDelivery = z.infer<typeof upstreamDelivery>

/** These users are seen by others now. It comes where deliveries do. */
export const upstreamAnnouncement = z.strictObject({
  audienceChanged: z.array(snowflake).min(1).max(upstreamLimits.accountIds),
})
