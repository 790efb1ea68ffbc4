import { z } from 'zod'
import { auditActions } from './constants/audit-actions.ts'
import * as limits from './constants/limits.ts'
import { isReservation } from './constants/reserved-usernames.ts'
import { normalizeUsername } from './constants/usernames.ts'
import { deletionOrder } from './federation.ts'
import { pageQuery } from './invites.ts'
import { emailReply } from './mail.ts'
import { linkedIdentity } from './providers.ts'
import { socketsReply } from './sockets.ts'
import { namedObject, optionalText, requiredText, shapeOf, snowflake, text, timestampMs } from './text.ts'
import { clearableColor, clearableFile, instanceProfile, userReply } from './users.ts'

const flag = z.enum(['true', 'false']).transform((value) => value === 'true')

/** From 1 to `max`. Other numbers are clamped, other texts read as `preset`. */
function clamped(preset: number, max: number) {
  const numeral = z.string().trim().min(1).transform(Number).pipe(z.number())
  return numeral.transform((value) => Math.min(Math.max(Math.trunc(value), 1), max)).catch(preset)
}

/** `2026-11-21`, also with time and zone. Invalid days read as absent. */
const day = z
  .union([
    z.iso.date(),
    z.iso.datetime({ offset: true }).transform((time) => new Date(time).toISOString().slice(0, 10)),
  ])
  .refine((value) => value >= '1970-01-01' && value <= '2999-12-31')
  .optional()
  .catch(undefined)

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) instanceof Intl.DateTimeFormat
  } catch {
    return false
  }
}

/** Whose days are meant. Contract: 5, Days. */
const timeZone = z.string().refine(isTimeZone).default('UTC')

/** `homeInstance`: a host, or `local`. `suspended`: those alone. `invite`: who came by it. `cursor`: the last `nextCursor`, in place of `page`. Unknown values read as the default. Contract: 5, users. */
export const listUsersQuery = z.object({
  q: text('q').max(100).optional(),
  page: clamped(1, 1_000_000),
  pageSize: clamped(limits.pageSizeDefault, limits.pageSizeMax),
  showDeleted: flag.catch(false),
  homeInstance: text('homeInstance').max(limits.hostMax).optional().catch(undefined),
  role: z.enum(['admin', 'non-admin']).optional().catch(undefined),
  joinedAfter: day,
  joinedBefore: day,
  tz: timeZone.catch('UTC'),
  sort: z.enum(['newest', 'oldest', 'az', 'za']).catch('newest'),
  suspended: z
    .literal('true')
    .transform(() => true)
    .catch(false),
  invite: snowflake.optional().catch(undefined),
  cursor: snowflake.optional().catch(undefined),
})
export const userInstancesReply = z.object({ instances: z.array(z.string()) })
export const listUsersReply = z.object({
  users: z.array(userReply),
  total: z.number().int(),
  page: z.number().int(),
  pageSize: z.number().int(),
  /** Above 10,000. */
  totalIsEstimate: z.literal(true).optional(),
  nextCursor: z.string().nullable(),
})
export const roleBody = z.object({ isAdmin: z.boolean({ error: 'isAdmin must be true or false' }) })
export const suspendBody = z.object({ reason: optionalText('reason', limits.suspensionReasonMax).optional() })
export const recoveryLinkReply = z.object({ url: z.string(), expiresAt: timestampMs })
export const resetPasswordReply = z.object({ temporaryPassword: z.string() })

const switches = [
  'federatedRegistrationOpen',
  'autoAcceptPeering',
  'stubUpgradesNeedProof',
  'requireSecondFactorForAdmins',
  ...(['approvalRequired', 'askReason', 'openidEnabled'] as const),
] as const
export const proofOfWork = z
  .enum(['off', 'registration'], { error: 'proofOfWork must be off or registration' })
  .meta({ id: 'ProofOfWork' })
export const settingsReply = namedObject('InstanceSettings', {
  instanceName: z.string(),
  ...instanceProfile.shape,
  registrationOpen: z.boolean().nullable(),
  ...shapeOf(switches, () => z.boolean()),
  reservedUsernames: z.array(z.string()),
  /** How long a denial with `block` lasts for the network. */
  denialBlockHours: z.number().int(),
  proofOfWork,
  /** That a member may make in 30 days. */
  memberInvites: z.int(),
  // Existing clients need these fields. Contract: 5, settings.
  discoveryEnabled: z.literal(false),
  gifEnabled: z.literal(false),
  federationRelayEnabled: z.literal(true),
  federationRelayTtlDays: z.literal(30),
  defaultAutoRotateIntervalDays: z.literal(90),
  maxUploadSizeMb: z.literal(8),
})
const noInvites = { error: `memberInvites must be a whole number from 0 to ${limits.memberInvitesMax}` }
const reservedUsernames = z
  .array(z.string(), { error: `reservedUsernames must be a list of at most ${limits.reservedUsernamesMax} usernames` })
  .max(limits.reservedUsernamesMax)
  .transform((names) => [...new Set(names.map(normalizeUsername))])
  .refine((names) => names.every(isReservation), {
    error: 'reservedUsernames: lowercase letters, numbers and underscores, with * at the end for all that begin so',
  })
const noHours = { error: `denialBlockHours must be a whole number from 0 to ${limits.denialBlockHoursMax}` }
export const settingsBody = z.object({
  instanceName: requiredText('instanceName', 64).optional(),
  contact: optionalText('contact', limits.contactMax, 'one').optional(),
  description: optionalText('description', limits.descriptionMax, 'one').optional(),
  rules: optionalText('rules', limits.rulesMax).optional(),
  accentColor: clearableColor('accentColor'),
  /** An upload of one's own. */
  logo: clearableFile,
  registrationOpen: z.boolean({ error: 'registrationOpen must be true, false or null' }).nullable().optional(),
  ...shapeOf(switches, (name) => z.boolean({ error: `${name} must be true or false` }).optional()),
  reservedUsernames: reservedUsernames.optional(),
  denialBlockHours: z.number(noHours).int(noHours).min(0, noHours).max(limits.denialBlockHoursMax, noHours).optional(),
  proofOfWork: proofOfWork.optional(),
  memberInvites: z.int(noInvites).min(0, noInvites).max(limits.memberInvitesMax, noInvites).optional(),
})

/** An entry keeps the names of its time. Contract: 5, audit. */
export const auditEntryReply = namedObject('AuditEntry', {
  id: snowflake,
  action: z.string(),
  actorId: snowflake.nullable(),
  actorUsername: z.string().nullable(),
  targetType: z.string(),
  targetId: z.string().nullable(),
  /** Of a user, as it was then. */
  targetName: z.string().nullable(),
  detail: z.record(z.string(), z.unknown()),
  createdAt: timestampMs,
})
/** `actor`: an id, or `operator`. `after` and `before`: days as in the list of users. Contract: 5, audit. */
export const auditQuery = pageQuery.extend({
  actor: z.union([z.literal('operator'), snowflake]).optional(),
  subject: snowflake.optional(),
  action: z.enum(auditActions).optional(),
  after: day,
  before: day,
  tz: timeZone,
})
export const auditReply = z.object({ entries: z.array(auditEntryReply), nextCursor: z.string().nullable() })

/** Counts but `accounts` end at their bound. Contract: 5, Overview. */
export const overviewReply = namedObject('Overview', {
  version: z.string(),
  /** Where links lead and passkeys work. */
  publicOrigin: z.string(),
  accounts: listUsersReply.pick({ total: true, totalIsEstimate: true }),
  /** Accounts with an open socket. */
  online: z.int(),
  waitingApprovals: z.int(),
  /** How many registrations wait for an admin. Contract: 3, Approval. */
  pendingRegistrations: z.int(),
  peersInTrouble: z.int(),
  ordersOverdue: z.int(),
  /** Of this instance, a day (UTC) each, the oldest first. */
  registrations: z.array(z.object({ day: z.iso.date(), count: z.int() })),
  firstSteps: z.object({
    isNamed: z.boolean(),
    isRegistrationDecided: z.boolean(),
    hasInvited: z.boolean(),
    hasSecondAdmin: z.boolean(),
    hasReservedUsernames: z.boolean(),
  }),
})

/** What the page of a user shows to admins. Contract: 5, A user. */
export const describeUserReply = socketsReply.extend({
  user: userReply,
  /** The invite, and its creator as far as known. */
  invitedBy: z
    .object({ inviteId: snowflake, name: z.string(), userId: snowflake.nullable(), username: z.string().nullable() })
    .nullable(),
  /** Who came by its invites, the latest first, 100 at most. A release before lacks it. */
  invited: z.array(z.object({ id: snowflake, username: z.string() })).optional(),
  passkeys: z.number().int(),
  /** With which it logs in, oldest first. A release before lacks it. */
  identities: z.array(linkedIdentity).optional(),
  /** While the instance sends mail. Contract: 3, Mail. */
  email: emailReply.nullable().optional(),
  secondFactor: z.boolean(),
  lastLoginAt: timestampMs.nullable(),
  /** Peers that are told of a suspension, and asked to delete the account there. A release before lacks it. */
  instances: z.array(z.string()).optional(),
  /** What became of the deletions there, newest first. */
  orders: z.array(deletionOrder).optional(),
  audit: z.array(auditEntryReply),
})
