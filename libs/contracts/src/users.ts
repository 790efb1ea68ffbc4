import { z } from 'zod'
import * as limits from './constants/limits.ts'
import {
  avatarColors,
  fieldsWith,
  profileFieldNames,
  profileFields,
  type AvatarColor,
  type ProfileFieldName,
  type ProfileKind,
} from './constants/profile-fields.ts'
import {
  describeType,
  newPassword,
  optionalText,
  passwordAttempt,
  snowflake,
  text,
  timestampMs,
  trimmedText,
} from './text.ts'

export const userStatus = z.enum(['online', 'offline'])

export const replicatedInstance = z
  .object({
    origin: text('origin').max(300),
    username: trimmedText('username', limits.replicatedUsernameMax),
  })
  .meta({ id: 'ReplicatedInstance' })

type Fields = typeof profileFields
type ByKind<Schemas extends Record<ProfileKind, unknown>> = { [N in ProfileFieldName]: Schemas[Fields[N]['kind']] }

const repliedValues = {
  text: z.string().nullable(),
  picture: z.string().nullable(),
  accentColor: z.string().nullable(),
  avatarColor: z.enum(avatarColors).nullable(),
  flag: z.boolean(),
}
type RepliedFields = {
  [N in ProfileFieldName]: Fields[N]['shownTo'] extends 'self'
    ? z.ZodOptional<ByKind<typeof repliedValues>[N]>
    : ByKind<typeof repliedValues>[N]
}
const repliedFields = Object.fromEntries(
  profileFieldNames.map((name) => {
    const { kind, shownTo } = profileFields[name]
    return [name, shownTo === 'self' ? repliedValues[kind].optional() : repliedValues[kind]]
  }),
) as RepliedFields

/** For admins alone. Contract: 2. */
const adminFields = {
  suspendedAt: timestampMs.nullable().optional(),
  suspendedReason: z.string().nullable().optional(),
}
export const adminFieldNames = Object.keys(adminFields) as (keyof typeof adminFields)[]

/** The other optional fields but `isDeleted` are the caller's own. Contract: 2. */
export const userReply = z
  .object({
    id: snowflake,
    username: z.string(),
    ...repliedFields,
    status: userStatus,
    isAdmin: z.boolean(),
    isDeleted: z.literal(true).optional(),
    profileUpdatedAt: timestampMs,
    createdAt: timestampMs,
    homeInstance: z.string().nullable(),
    homeUserId: z.string().nullable(),
    replicatedInstances: z.array(replicatedInstance),
    passwordChangeRequired: z.boolean().optional(),
    passwordChangedAt: timestampMs.nullable().optional(),
    secondFactor: z.boolean().optional(),
    federationHomeOrphaned: z.boolean().optional(),
    detachedHomeInstance: z.string().nullable().optional(),
    ...adminFields,
  })
  .meta({ id: 'User' })
export type UserReply = z.infer<typeof userReply>

const publicNames = ['username', ...fieldsWith({ shownTo: 'everybody' })] as const
/** A release before lacks new fields. */
export const publicProfile = userReply
  .pick(Object.fromEntries(publicNames.map((name) => [name, true])) as Record<(typeof publicNames)[number], true>)
  .partial()

/** Null and empty mean absent. Contract: 3, register. */
const absentWhenEmpty = (name: string, max: number) =>
  text(name)
    .max(max, { error: `${name} must be at most ${max} characters` })
    .nullish()
    .transform((value) => value || null)

/** Accepts any value, as specified. The type and the description of the API say what to send. */
const anyValue = <Expected>() =>
  (z.unknown().meta({ type: 'string' }) as z.ZodType<unknown, Expected | null>).optional()

/** The operation checks names: the rule differs for federated users. Spec: Registration. */
export const registerBody = z.object({
  username: text('username').meta({ minLength: limits.localUsernameMin, maxLength: limits.federatedUsernameMax }),
  password: newPassword('password'),
  displayName: optionalText('displayName', limits.displayNameMax, 'one').optional(),
  avatarColor: anyValue<AvatarColor>(),
  homeInstance: absentWhenEmpty('homeInstance', limits.hostMax),
  homeUserId: anyValue<string>(),
  inviteToken: anyValue<string>(),
})

/** Spec: Registration, homeUserId. */
export const registeredIdentity = z.object({ homeUserId: absentWhenEmpty('homeUserId', limits.homeUserIdMax) })

/** Of the second factor: six digits, or a recovery code. */
const loginCode = z.string({ error: 'code must be a string' }).nullish()

export const loginBody = z.object({
  username: z.string({ error: 'username is required' }),
  password: passwordAttempt('password').min(1, { error: 'password is required' }),
  code: loginCode,
})

/** All that is wrong with a token has one answer. Contract: 3, recover. */
export const recoverBody = z.object({
  token: anyValue<string>(),
  newPassword: newPassword('newPassword'),
  code: loginCode,
})

export const credentialsReply = z.object({ token: z.string(), user: userReply }).meta({ id: 'SignedIn' })

/** A repeated name reads as none. */
export const checkUsernameQuery = z.object({ username: z.string().optional().catch(undefined) })
export const checkUsernameReply = z.object({
  available: z.boolean(),
  reason: z.string().optional(),
  code: z.string().optional(),
})

export const checkInviteQuery = z.object({ token: z.string().optional() })
export const checkInviteReply = z.union([
  z.object({ valid: z.literal(true), name: z.string() }),
  z.object({ valid: z.literal(false), reason: z.enum(['expired', 'exhausted', 'invalid']) }),
])

export const userParams = z.object({ id: snowflake })

const fileName = z
  .string({ error: 'must be the filename of an upload' })
  .max(128)
  .regex(/^[A-Za-z0-9._-]+$/, { error: 'must be the filename of an upload' })

export const uploadParams = z.object({ filename: fileName })

export const clearableFile = z
  .union([fileName, z.literal('')], { error: 'must be the filename of an upload' })
  .transform((value) => value || null)
  .nullable()
  .optional()

export const clearableColor = (name: string) =>
  z
    .string({ error: `${name} must look like #rrggbb` })
    .regex(/^(#[0-9a-fA-F]{6})?$/, { error: `${name} must look like #rrggbb` })
    .transform((value) => value || null)
    .nullable()
    .optional()

const editedValues = {
  text: (name: string, max: number, lines: 'one' | 'many') => optionalText(name, max, lines).optional(),
  picture: () => clearableFile,
  accentColor: clearableColor,
  avatarColor: (name: string) =>
    z
      .enum([...avatarColors, ''], { error: `${name} must be one of ${avatarColors.join(', ')}` })
      .transform((value) => value || null)
      .nullable()
      .optional(),
  flag: (name: string) => z.boolean({ error: `${name} must be true or false` }).optional(),
}
type EditedValues = { [K in ProfileKind]: ReturnType<(typeof editedValues)[K]> }
const editedFields = Object.fromEntries(
  profileFieldNames.map((name) => {
    const field = profileFields[name]
    return [
      name,
      field.kind === 'text' ? editedValues.text(name, field.max, field.lines) : editedValues[field.kind](name),
    ]
  }),
) as ByKind<EditedValues>

/** Contract: 3, PATCH. Absent fields stay; an empty text clears. */
export const profileBody = z.object({
  ...editedFields,
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
  /** Ignored for federated accounts. Contract: 3. */
  currentPassword: anyValue<string>(),
  newPassword: newPassword('newPassword'),
})
/** Contract: 3, sessions/end and export. */
export const ownPasswordBody = z.object({ password: anyValue<string>() }).meta({ id: 'OwnPassword' })

const code = z.string({ error: ({ input }) => describeType('code', input) }).min(1, { error: 'code is required' })

/** Contract: 3, Second factor. */
/** `since`: null while none is on. */
export const secondFactorState = z.object({ since: timestampMs.nullable(), recoveryCodesLeft: z.number().int() })
export const secondFactorReply = z.object({ secret: z.string(), otpauthUri: z.string() })
export const confirmSecondFactorBody = z.object({ code })
export const ownSecondFactorBody = z.object({ password: anyValue<string>(), code }).meta({ id: 'OwnSecondFactor' })
export const recoveryCodesReply = z.object({ recoveryCodes: z.array(z.string()) }).meta({ id: 'RecoveryCodes' })

const signInMethods = ['password', 'second_factor', 'passkey', 'home', 'recovery', 'registration'] as const
export type SignInMethod = (typeof signInMethods)[number]

/** Contract: 3, Sign-ins. */
export const signInsReply = z.object({
  signIns: z.array(
    z
      .object({
        id: snowflake,
        signedInAt: timestampMs,
        method: z.enum(signInMethods),
        network: z.string(),
        device: z.string().nullable(),
      })
      .meta({ id: 'SignIn' }),
  ),
})

export const tokenReply = z.object({ token: z.string() }).meta({ id: 'Token' })

export const deleteSelfBody = z.object({
  username: z.string({ error: 'username_confirmation_required' }),
  password: anyValue<string>(),
})
/** Ids of further services are texts of any kind. */
export const ownedSpaces = z.array(
  z.object({ id: z.string().min(1).max(64), name: z.string().max(100) }).meta({ id: 'OwnedSpace' }),
)
export const successReply = z.object({ success: z.literal(true) }).meta({ id: 'Success' })

export const uploadReply = z.object({
  filename: z.string(),
  url: z.string(),
  size: z.number().int(),
  mimetype: z.string(),
})

/** What an instance says of itself. `logo`: the filename of an upload. Contract: 5, Settings. */
export const instanceProfile = z.object({
  contact: z.string().nullable(),
  description: z.string().nullable(),
  rules: z.string().nullable(),
  accentColor: z.string().nullable(),
  logo: z.string().nullable(),
})
export type InstanceProfile = z.infer<typeof instanceProfile>
export const instanceProfileNames = instanceProfile.keyof().options

export const instanceInfoReply = z.object({
  name: z.string(),
  ...instanceProfile.shape,
  version: z.string(),
  registrationOpen: z.boolean(),
  federatedRegistrationOpen: z.boolean(),
  instanceId: z.string(),
  directoryConfigured: z.boolean(),
  directoryAvailable: z.boolean(),
  directoryEnabled: z.boolean(),
  supportCardEnabled: z.boolean(),
})

/** `version` rises within each changing transaction: a late write never restores an older state. */
export const accountState = z.object({
  userId: snowflake,
  version: z.number().int().nonnegative(),
  username: z.string(),
  isDeleted: z.boolean(),
  isAdmin: z.boolean(),
  passwordChangedAt: timestampMs.nullable(),
  /** By a reset or a deletion. */
  sessionsEndedAt: timestampMs.nullable(),
  /** An admin who must set up a second factor before acting as one. The release before does not name it. */
  secondFactorDue: z.boolean().optional(),
})
export type AccountState = z.infer<typeof accountState>
