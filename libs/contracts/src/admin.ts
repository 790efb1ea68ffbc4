import { z } from 'zod'
import * as limits from './constants/limits.ts'
import { snowflake, text, timestampMs, trimmedText } from './text.ts'
import { userReply } from './users.ts'

const flag = z.enum(['true', 'false']).transform((value) => value === 'true')

/** `homeInstance` is a host, or `local` for native users. `sort` may start with `-` for descending. */
export const listUsersQuery = z.object({
  q: text('q').max(100).optional(),
  page: z.coerce.number().int().min(1).max(1_000_000).default(1),
  pageSize: z.coerce.number().int().min(1).max(limits.pageSizeMax).default(limits.pageSizeDefault),
  showDeleted: flag.default(false),
  homeInstance: text('homeInstance').max(limits.hostMax).optional(),
  role: z.enum(['admin', 'user']).optional(),
  sort: z.enum(['createdAt', '-createdAt', 'username', '-username']).default('-createdAt'),
})
export const listUsersReply = z.object({
  users: z.array(userReply),
  total: z.number().int(),
  page: z.number().int(),
  pageSize: z.number().int(),
})
export const roleBody = z.object({ isAdmin: z.boolean({ error: 'isAdmin must be true or false' }) })
export const resetPasswordReply = z.object({ temporaryPassword: z.string() })

export const settingsReply = z.object({
  instanceName: z.string(),
  registrationOpen: z.boolean().nullable(),
  federatedRegistrationOpen: z.boolean(),
  autoAcceptPeering: z.boolean(),
})
export const settingsBody = z.object({
  instanceName: trimmedText('instanceName', 64)
    .refine((value) => value.length > 0, { error: 'instanceName is required' })
    .optional(),
  registrationOpen: z.boolean({ error: 'registrationOpen must be true, false or null' }).nullable().optional(),
  federatedRegistrationOpen: z.boolean({ error: 'federatedRegistrationOpen must be true or false' }).optional(),
  autoAcceptPeering: z.boolean({ error: 'autoAcceptPeering must be true or false' }).optional(),
})

/** One admin action: actor, action, target, time. Contract: 5. */
export const auditEntryReply = z.object({
  id: snowflake,
  action: z.string(),
  actorId: snowflake.nullable(),
  actorUsername: z.string().nullable(),
  targetType: z.string(),
  targetId: z.string().nullable(),
  detail: z.record(z.string(), z.unknown()),
  createdAt: timestampMs,
})
export const auditReply = z.object({ entries: z.array(auditEntryReply), nextCursor: z.string().nullable() })
