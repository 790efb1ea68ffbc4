import { z } from 'zod'
import * as limits from './constants/limits.ts'
import { homeFields, lookupFields, profileFields } from './constants/profile-fields.ts'
import { hexadecimal, namedObject, shapeOf, snowflake, text, timestampMs } from './text.ts'

// Each event is checked by itself: an unreadable one must not reject the batch. Contract: 7, relay; protocol.md 3, 4.

export const relayEvent = z.looseObject({ eventType: z.string().max(100), messageId: z.string().min(1).max(128) })
export type RelayEvent = z.infer<typeof relayEvent>
export const relayBody = z.object({
  sourceInstance: text('sourceInstance').max(300).optional(),
  sourceInstanceId: text('sourceInstanceId').max(128).nullish(),
  events: z.array(z.unknown(), { error: 'events must be an array' }).max(50, { error: 'at most 50 events are taken' }),
})
export const relayVerdict = namedObject('RelayVerdict', { messageId: z.string(), reason: z.string() })
export const relayReply = z.object({
  accepted: z.array(z.string()),
  rejected: z.array(relayVerdict),
  undeliverable: z.array(relayVerdict).optional(),
  maxUploadSize: z.number().optional(),
})
const profileText = (max: number) => z.string().max(max).nullish()

/** Other instances have other limits. Longer texts are cut. */
const relayedMax = { text: 4_000, picture: 2_048, accentColor: 64, avatarColor: 64 } as const
const ofHome = { homeUserId: z.string().min(1).max(64), homeInstance: z.string().max(300) }
export const profileUpdate = z.object({
  ...ofHome,
  profileUpdatedAt: timestampMs,
  username: profileText(200),
  ...shapeOf(homeFields, (name) => profileText(relayedMax[profileFields[name].kind])),
})
export const presenceUpdate = z.object({ ...ofHome, status: z.enum(['online', 'idle', 'dnd', 'offline']) })
/** `ts`: in milliseconds by the clock of the home; a later one counts. Contract: 7, Account states. */
export const accountStateUpdate = z.object({ ...ofHome, state: z.enum(['suspended', 'active']), ts: timestampMs })
export const syncBody = z.object({
  sinceTimestamp: z
    .number({ error: 'sinceTimestamp must be a time in milliseconds' })
    .min(-8_640_000_000_000_000)
    .max(8_640_000_000_000_000),
  limit: z.number({ error: 'limit must be a whole number from 1 to 500' }).int().min(1).max(500).default(100),
  /** The checkpointId of the page before. */
  afterId: snowflake.nullish(),
  contextType: z.enum(['dm', 'friend', 'profile'], { error: 'Unknown contextType' }).nullish(),
})
export const syncReply = z.object({
  events: z.array(z.unknown()),
  hasMore: z.boolean(),
  checkpoint: z.number(),
  checkpointId: z.string().optional(),
})

export const lookupBody = z.object({ username: text('username').min(1).max(limits.federatedUsernameMax) })
export const byHomeIdBody = z.object({ homeUserId: text('homeUserId').min(1).max(64) })
export const remoteUser = namedObject('RemoteUser', {
  homeUserId: text('homeUserId'),
  username: text('username'),
  profile: z.object({
    ...shapeOf(lookupFields, (name) => text(name).nullable().default(null)),
    status: z.string(),
    /** When it was created, for one that was never changed. */
    profileUpdatedAt: timestampMs.optional(),
  }),
})
export type RemoteUser = z.infer<typeof remoteUser>
export const lookupReply = namedObject('FoundUser', { found: z.literal(true), user: remoteUser })
export const byHomeIdReply = z.union([lookupReply, z.object({ found: z.literal(false) })])
export const attachTokenBody = namedObject('AttachToken', { token: hexadecimal('token') })
export const attachProofReply = z.union([
  z.object({ valid: z.literal(true), homeUserId: text('homeUserId'), username: text('username') }),
  z.object({ valid: z.literal(false) }),
])
