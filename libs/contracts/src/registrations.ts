import { z } from 'zod'
import * as limits from './constants/limits.ts'
import { countCodePoints } from './constants/text.ts'
import { pageQuery } from './invites.ts'
import { anyText, namedObject, optionalText, snowflake, text, timestampMs } from './text.ts'

// Contract: 3, Approval. Registrations that wait for an admin.

/** The reason of a registration, for the admin who decides. An empty text means none. */
export const registrationReason = text('reason')
  .overwrite((value) => value.trim())
  .refine((value) => countCodePoints(value) <= limits.registrationReasonMax, {
    error: 'reason_too_long',
    params: { reason: 'too_long', max: limits.registrationReasonMax },
  })
  .meta({ maxLength: limits.registrationReasonMax })
  .nullish()
  .transform((value) => value || null)

/** In place of a token. The receipt tells what became of it, and is shown once. */
export const pendingRegistrationReply = namedObject('PendingRegistration', {
  pending: z.literal(true),
  username: z.string(),
  receipt: z.string(),
})

export const readRegistrationBody = z.object({ receipt: anyText('receipt') })
/** `ended`: denied, expired or unknown. */
export const readRegistrationReply = z.object({
  state: z.enum(['pending', 'approved', 'ended']),
  username: z.string().nullable(),
})
export type RegistrationState = z.infer<typeof readRegistrationReply>['state']

export const waitingRegistration = namedObject('WaitingRegistration', {
  id: snowflake,
  username: z.string(),
  displayName: z.string().nullable(),
  reason: z.string().nullable(),
  /** By which limits count, and a block too. */
  network: z.string(),
  /** As a login history names it. */
  client: z.string().nullable(),
  /** The id of an identity provider. */
  provider: z.string().nullable(),
  createdAt: timestampMs,
  /** Denied less than a minute ago: it can be restored. */
  deniedAt: timestampMs.nullable(),
})
export type WaitingRegistrationReply = z.infer<typeof waitingRegistration>

/** `q`: a part of the username, the display name, the reason or the network; under three characters their beginning. */
export const listRegistrationsQuery = pageQuery.extend({ q: text('q').max(100).optional() })
/** Oldest first. `total`: of these that wait, without the denied ones, up to `waitingCountMax`. */
export const listRegistrationsReply = z.object({
  registrations: z.array(waitingRegistration),
  total: z.number().int(),
  nextCursor: z.string().nullable(),
})

const denial = {
  /** For the audit log. */
  reason: optionalText('reason', limits.registrationReasonMax).optional(),
  /** Refuses registrations from its network for `denialBlockHours`. */
  block: z.boolean({ error: 'block must be true or false' }).optional(),
}
export const denyRegistrationBody = z.object(denial)
export const denyRegistrationReply = z.object({ success: z.literal(true), restorableUntil: timestampMs })

export const registrationDecisions = ['approve', 'deny', 'restore'] as const
export type RegistrationDecision = (typeof registrationDecisions)[number]

export const decideRegistrationsBody = z.object({
  ids: z
    .array(snowflake, { error: 'ids must be a list of ids' })
    .min(1, { error: 'ids must name at least one registration' })
    .max(limits.decisionsAtOnce, { error: `ids may name at most ${limits.decisionsAtOnce} registrations` }),
  decision: z.enum(registrationDecisions, { error: `decision must be one of ${registrationDecisions.join(', ')}` }),
  ...denial,
})
/** Each on its own: `missed` are those that nothing became of, with the code that the decision on one gives. */
export const decideRegistrationsReply = z.object({
  decided: z.array(snowflake),
  missed: z.array(z.object({ id: snowflake, code: z.string() })),
})
