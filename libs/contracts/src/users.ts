import { z } from 'zod'
import { avatarColors } from './constants/avatar-colors.ts'
import type { AvatarColor } from './constants/avatar-colors.ts'
import * as limits from './constants/limits.ts'
import { newPassword, passwordAttempt } from './passwords.ts'
import { optionalText, snowflake, text, timestampMs, trimmedText } from './text.ts'

export const userStatus = z.enum(['online', 'offline'])

/** An instance on which this user also has an account, and the name there. */
export const replicatedInstance = z.object({
  origin: text('origin').max(300),
  username: trimmedText('username', limits.replicatedUsernameMax),
})

/** What the API returns of a user; optional fields but `isDeleted` only of the caller's own account. Contract: 2. */
export const userReply = z.object({
  id: snowflake,
  username: z.string(),
  displayName: z.string().nullable(),
  avatar: z.string().nullable(),
  banner: z.string().nullable(),
  accentColor: z.string().nullable(),
  avatarColor: z.enum(avatarColors).nullable(),
  bio: z.string().nullable(),
  status: userStatus,
  customStatus: z.string().nullable(),
  isAdmin: z.boolean(),
  isDeleted: z.literal(true).optional(),
  discoverable: z.boolean(),
  profileUpdatedAt: timestampMs,
  createdAt: timestampMs,
  homeInstance: z.string().nullable(),
  homeUserId: z.string().nullable(),
  replicatedInstances: z.array(replicatedInstance),
  showActivity: z.boolean().optional(),
  /** Of the own account: its password is the temporary one of an admin's reset. */
  passwordChangeRequired: z.boolean().optional(),
  /** Of the own account: since when earlier tokens are refused, as the password was changed or all sessions were ended. */
  passwordChangedAt: timestampMs.nullable().optional(),
  /** Of the own account: its home instance was lost and set up anew. */
  federationHomeOrphaned: z.boolean().optional(),
})
export type UserReply = z.infer<typeof userReply>

/** Null and empty both mean absent. Contract: 3, register. */
const absentWhenEmpty = (name: string, max: number) =>
  text(name)
    .max(max, { error: `${name} must be at most ${max} characters` })
    .nullish()
    .transform((value) => value || null)

/** Accepts any value, as the specification demands; the type says what a caller should send. */
const anyValue = <Expected>() => (z.unknown() as z.ZodType<unknown, Expected | null>).optional()

/** The operation checks the names: what is valid depends on whether the registration is local. Spec: Registration. */
export const registerBody = z.object({
  username: text('username'),
  password: newPassword('password'),
  displayName: optionalText('displayName', limits.displayNameMax).optional(),
  avatarColor: anyValue<AvatarColor>(),
  homeInstance: absentWhenEmpty('homeInstance', limits.hostMax),
  homeUserId: anyValue<string>(),
  inviteToken: anyValue<string>(),
})

/** What a federated registration reads; a local one ignores it. Spec: Registration, homeUserId. */
export const registeredIdentity = z.object({ homeUserId: absentWhenEmpty('homeUserId', limits.homeUserIdMax) })

export const loginBody = z.object({
  username: z.string({ error: 'username is required' }),
  password: passwordAttempt('password').min(1, { error: 'password is required' }),
})

export const credentialsReply = z.object({ token: z.string(), user: userReply })

export const checkUsernameQuery = z.object({ username: z.string().optional() })
export const checkUsernameReply = z.object({ available: z.boolean(), reason: z.string().optional() })

export const checkInviteQuery = z.object({ token: z.string().optional() })
export const checkInviteReply = z.union([
  z.object({ valid: z.literal(true), name: z.string() }),
  z.object({ valid: z.literal(false), reason: z.enum(['expired', 'exhausted', 'invalid']) }),
])

/** `@me` has endpoints of its own. */
export const userParams = z.object({ id: snowflake })

const fileName = z
  .string({ error: 'must be the filename of an upload' })
  .max(128)
  .regex(/^[A-Za-z0-9._-]+$/, { error: 'must be the filename of an upload' })

export const uploadParams = z.object({ filename: fileName })

/** The name of an upload, or null; an empty text is null. */
const clearableFile = z
  .union([fileName, z.literal('')], { error: 'must be the filename of an upload' })
  .transform((value) => value || null)
  .nullable()
  .optional()

const colorFault = `avatarColor must be one of ${avatarColors.join(', ')}`

/** Contract: 3, PATCH. Absent fields stay as they are; an empty text clears a field as null does. */
export const profileBody = z.object({
  displayName: optionalText('displayName', limits.displayNameMax).optional(),
  bio: optionalText('bio', limits.bioMax).optional(),
  customStatus: optionalText('customStatus', limits.customStatusMax).optional(),
  accentColor: z
    .string({ error: 'accentColor must look like #rrggbb' })
    .regex(/^(#[0-9a-fA-F]{6})?$/, { error: 'accentColor must look like #rrggbb' })
    .transform((value) => value || null)
    .nullable()
    .optional(),
  avatarColor: z
    .enum([...avatarColors, ''], { error: colorFault })
    .transform((value) => value || null)
    .nullable()
    .optional(),
  avatar: clearableFile,
  banner: clearableFile,
  discoverable: z.boolean({ error: 'discoverable must be true or false' }).optional(),
  showActivity: z.boolean({ error: 'showActivity must be true or false' }).optional(),
  homeUserId: text('homeUserId')
    .min(1, { error: 'homeUserId is required' })
    .max(limits.homeUserIdMax, { error: `homeUserId must be at most ${limits.homeUserIdMax} characters` })
    .optional(),
  replicatedInstances: z
    .array(replicatedInstance)
    .max(limits.replicatedInstancesMax, { error: `replicatedInstances holds at most ${limits.replicatedInstancesMax}` })
    .optional(),
})
export type ProfileBody = z.infer<typeof profileBody>

export const verifyPasswordBody = z.object({ password: passwordAttempt('password') })
export const verifyPasswordReply = z.object({ valid: z.boolean() })

export const changePasswordBody = z.object({
  /** Federated accounts need none: whatever they send is ignored. Contract: 3. */
  currentPassword: anyValue<string>(),
  newPassword: newPassword('newPassword'),
})
/** As `currentPassword` above. Contract: 3, sessions/end. */
export const endSessionsBody = z.object({ password: anyValue<string>() })
/** As `currentPassword` above. Contract: 3, export. */
export const exportBody = z.object({ password: anyValue<string>() })
export const tokenReply = z.object({ token: z.string() })

export const deleteSelfBody = z.object({
  username: z.string({ error: 'username is required' }),
  /** As `currentPassword` above. */
  password: anyValue<string>(),
})
export const ownedSpaces = z.array(z.object({ id: snowflake, name: z.string() }))
export const successReply = z.object({ success: z.literal(true) })

export const uploadReply = z.object({
  filename: z.string(),
  url: z.string(),
  size: z.number().int(),
  mimetype: z.string(),
})

export const instanceInfoReply = z.object({
  name: z.string(),
  version: z.string(),
  registrationOpen: z.boolean(),
  federatedRegistrationOpen: z.boolean(),
  instanceId: z.string(),
})
