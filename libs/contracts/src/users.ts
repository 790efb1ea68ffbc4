import { z } from 'zod'
import * as limits from './constants/limits.ts'
import { avatarColors, fieldsWith, profileFieldNames, profileFields } from './constants/profile-fields.ts'
import { registrationReason } from './registrations.ts'
import { emailAddress, emailReply, mailLanguages } from './mail.ts'
import { anyText, newPassword, optionalText, passwordAttempt, text, trimmedText } from './text.ts'
import { namedObject, shapeOf, snowflake, timestampMs } from './text.ts'

export const userStatus = z.enum(['online', 'offline']).meta({ id: 'UserStatus' })

export const replicatedInstance = namedObject('ReplicatedInstance', {
  origin: text('origin').max(300),
  username: trimmedText('username', limits.replicatedUsernameMax),
})

type Fields = typeof profileFields
type ByKind<Schemas extends Record<Fields[keyof Fields]['kind'], unknown>> = {
  [N in keyof Fields]: Schemas[Fields[N]['kind']]
}

const repliedValues = {
  text: z.string().nullable(),
  picture: z.string().nullable(),
  accentColor: z.string().nullable(),
  avatarColor: z.enum(avatarColors).meta({ id: 'AvatarColor' }).nullable(),
  flag: z.boolean(),
}
type Replied = ByKind<typeof repliedValues>
type Shown = { [N in keyof Fields]: Fields[N]['shownTo'] extends 'self' ? z.ZodOptional<Replied[N]> : Replied[N] }
const repliedFields = shapeOf(profileFieldNames, (name) => {
  const { kind, shownTo } = profileFields[name]
  return shownTo === 'self' ? repliedValues[kind].optional() : repliedValues[kind]
}) as Shown

/** For admins alone. Contract: 2, fields. */
const adminFields = {
  suspendedAt: timestampMs.nullable().optional(),
  suspendedReason: z.string().nullable().optional(),
  /** By its home instance. Contract: 7, Account states. */
  homeSuspendedAt: timestampMs.nullable().optional(),
}
export const adminFieldNames = Object.keys(adminFields) as (keyof typeof adminFields)[]

/** The other optional fields but `isDeleted` are the caller's own. Contract: 2, self view. */
export const userReply = namedObject('User', {
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
  /** False: it signs in by a provider or a passkey alone. Contract: 3, Identity providers. */
  hasPassword: z.boolean().optional(),
  federationHomeOrphaned: z.boolean().optional(),
  detachedHomeInstance: z.string().nullable().optional(),
  ...adminFields,
})
export type UserReply = z.infer<typeof userReply>

/** The caller's account, with what other tables hold of it. */
export const selfReply = userReply
  .extend({
    /** While the instance sends mail: of an account at home here. Contract: 3, Mail. */
    email: emailReply.nullable().optional(),
    emailNotices: z.boolean().optional(),
    /** How many invites the account may make in 30 days, while it may. Contract: 4, Invites of members. */
    memberInvites: z.int().optional(),
  })
  .meta({ id: 'Self' })
export type SelfReply = z.infer<typeof selfReply>

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
export const anyValue = <Expected>() =>
  (z.unknown().meta({ type: 'string' }) as z.ZodType<unknown, Expected | null>).optional()

/** The operation checks names: the rule differs for federated users. Spec: Registration. */
export const registerBody = z.object({
  username: text('username').meta({ minLength: limits.localUsernameMin, maxLength: limits.federatedUsernameMax }),
  password: newPassword('password'),
  displayName: optionalText('displayName', limits.displayNameMax, 'one').optional(),
  avatarColor: anyValue<(typeof avatarColors)[number]>(),
  homeInstance: absentWhenEmpty('homeInstance', limits.hostMax),
  homeUserId: anyValue<string>(),
  inviteToken: anyValue<string>(),
  reason: registrationReason,
  proof: anyValue<string>(),
})

/** An empty one counts as absent. Spec: Registration, homeUserId. */
export const registeredIdentity = z.object({ homeUserId: absentWhenEmpty('homeUserId', limits.homeUserIdMax) })

/** Of the second factor: six digits, or a recovery code. */
export const loginCode = z.string({ error: 'code must be a string' }).nullish()

export const loginBody = z.object({
  username: z.string({ error: 'username is required' }),
  password: passwordAttempt.min(1, { error: 'password is required' }),
  code: loginCode,
})

/** All that is wrong with a token has one answer. Contract: 3, recover. */
export const recoverBody = z.object({
  token: anyValue<string>(),
  newPassword: newPassword('newPassword'),
  code: loginCode,
})

export const credentialsReply = namedObject('SignedIn', { token: z.string(), user: userReply })

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

const noFileName = { error: 'must be the filename of an upload' }
const fileName = z
  .string(noFileName)
  .max(128)
  .regex(/^[A-Za-z0-9._-]+$/, noFileName)

/** A square of the upright picture, in pixels: `left,top,side`. Contract: 3, uploads. */
const square = z
  .string()
  .regex(/^\d{1,5},\d{1,5},[1-9]\d{0,4}$/)
  .transform((text) => {
    const [left = 0, top = 0, side = 0] = text.split(',').map(Number)
    return { left, top, side }
  })

/** Beside `file`. */
export const uploadFields = z.object({ crop: square.optional() })
export type Square = z.infer<typeof square>

export const uploadParams = z.object({ filename: fileName })

/** Absent stays; an empty text clears. */
const clearable = <T extends string>(schema: z.ZodType<T, T>) =>
  schema
    .transform((value) => (value || null) as Exclude<T, ''> | null)
    .nullable()
    .optional()

export const clearableFile = clearable(z.union([fileName, z.literal('')], noFileName))

export const clearableColor = (name: string) => {
  const error = `${name} must be a color like #rrggbb`
  return clearable(z.string({ error }).regex(/^(#[0-9a-fA-F]{6})?$/, { error }))
}

const editedValues = {
  text: (name: string, max: number, lines: 'one' | 'many') => optionalText(name, max, lines).optional(),
  picture: () => clearableFile,
  accentColor: clearableColor,
  avatarColor: (name: string) =>
    clearable(z.enum([...avatarColors, ''], { error: `${name} must be one of ${avatarColors.join(', ')}` })),
  flag: (name: string) => z.boolean({ error: `${name} must be true or false` }).optional(),
}
type EditedValues = { [K in keyof typeof editedValues]: ReturnType<(typeof editedValues)[K]> }
const editedFields = shapeOf(profileFieldNames, (name) => {
  const field = profileFields[name]
  return field.kind === 'text' ? editedValues.text(name, field.max, field.lines) : editedValues[field.kind](name)
}) as ByKind<EditedValues>

/** Accepted once. Contract: 3, homeUserId. */
export const newHomeUserId = text('homeUserId')
  .min(1, { error: 'homeUserId is required' })
  .max(limits.homeUserIdMax, { error: `homeUserId must be at most ${limits.homeUserIdMax} characters` })

/** Contract: 3, PATCH. Absent fields stay; an empty text clears. */
export const profileBody = z.object({
  ...editedFields,
  homeUserId: newHomeUserId.optional(),
  /** Of logins by an unknown client. Ignored while the instance sends no mail. Contract: 3, Mail. */
  emailNotices: z.boolean({ error: 'emailNotices must be true or false' }).optional(),
  replicatedInstances: z
    .array(replicatedInstance)
    .max(limits.replicatedInstancesMax, { error: `replicatedInstances holds at most ${limits.replicatedInstancesMax}` })
    .optional(),
})
export type ProfileBody = z.infer<typeof profileBody>

export const verifyPasswordReply = z.object({ valid: z.boolean() })

/** `ticket`: of purpose `confirm`, in place of a password of one's own. Contract: 3, Identity providers. */
const ticket = anyValue<string>()
const ownConfirmation = { password: anyValue<string>(), ticket }

export const changePasswordBody = z.object({
  /** Ignored for federated accounts. Contract: 3, confirmation by password. */
  currentPassword: anyValue<string>(),
  ticket,
  newPassword: newPassword('newPassword'),
})
/** The password confirms what a stolen token must not do. Contract: 3, sessions/end and export. */
export const ownPasswordBody = namedObject('OwnPassword', ownConfirmation)

/** `language`: of all mails to this address. Contract: 3, Mail. */
export const setEmailBody = z.object({
  email: emailAddress,
  language: z.enum(mailLanguages, { error: `language must be one of ${mailLanguages.join(', ')}` }).nullish(),
  ...ownConfirmation,
})
export const setEmailReply = z.object({ success: z.literal(true), email: emailReply })
/** All that is wrong with a token has one answer. */
export const confirmEmailBody = z.object({ token: anyValue<string>() })
/** Everything has one answer. Contract: 3, Mail. */
export const requestRecoveryBody = z.object({ username: anyValue<string>(), email: anyValue<string>() })

const code = anyText('code').min(1, { error: 'code is required' })

/** `since`: null while none is on. Contract: 3, Second factor. */
export const secondFactorState = z.object({ since: timestampMs.nullable(), recoveryCodesLeft: z.number().int() })
export const secondFactorReply = z.object({ secret: z.string(), otpauthUri: z.string() })
export const confirmSecondFactorBody = z.object({ code })
export const ownSecondFactorBody = namedObject('OwnSecondFactor', { ...ownConfirmation, code })
export const recoveryCodesReply = namedObject('RecoveryCodes', { recoveryCodes: z.array(z.string()) })

const signInMethods = [
  'password',
  'second_factor',
  'passkey',
  'provider',
  'home',
  'recovery',
  'registration',
  'renewal',
] as const
export type SignInMethod = (typeof signInMethods)[number]

/** The newest first. Contract: 3, Sign-ins. */
export const signInsReply = z.object({
  signIns: z.array(
    namedObject('SignIn', {
      id: snowflake,
      signedInAt: timestampMs,
      method: z.enum(signInMethods),
      network: z.string(),
      device: z.string().nullable(),
    }),
  ),
})

export const tokenReply = namedObject('Token', { token: z.string() })

export const deleteSelfBody = z.object({
  username: z.string({ error: 'username_confirmation_required' }),
  ...ownConfirmation,
})
/** Ids of further services are texts of any kind. */
export const ownedSpaces = z.array(
  namedObject('OwnedSpace', { id: z.string().min(1).max(64), name: z.string().max(100) }),
)
export const successReply = namedObject('Success', { success: z.literal(true) })
/** The replies of an endpoint that tells no more. */
export const success = { 200: successReply } as const
export const accepted = { 202: successReply } as const

export const uploadReply = z.object({
  filename: z.string(),
  url: z.string(),
  size: z.number().int(),
  mimetype: z.string(),
})

/** What an instance says of itself. `logo`: the filename of an upload. Contract: 5, Settings. */
export const instanceProfileNames = ['contact', 'description', 'rules', 'accentColor', 'logo'] as const
export const instanceProfile = z.object(shapeOf(instanceProfileNames, () => z.string().nullable()))
export type InstanceProfile = z.infer<typeof instanceProfile>

export const instanceInfoReply = z.object({
  name: z.string(),
  ...instanceProfile.shape,
  version: z.string(),
  registrationOpen: z.boolean(),
  federatedRegistrationOpen: z.boolean(),
  /** Only while they are on. Contract: 3, Approval. */
  approvalRequired: z.literal(true).optional(),
  askReason: z.literal(true).optional(),
  instanceId: z.string(),
  directoryConfigured: z.boolean(),
  directoryAvailable: z.boolean(),
  directoryEnabled: z.boolean(),
  supportCardEnabled: z.boolean(),
  /** Only while it is on. Contract: 3, Proof of work. */
  proofOfWork: z.literal('registration').optional(),
  /** Only while it sends mail. Contract: 3, Mail. */
  mail: z.literal(true).optional(),
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
  /** An admin who must set up a second factor before acting as one. */
  secondFactorDue: z.boolean().optional(),
})
export type AccountState = z.infer<typeof accountState>
