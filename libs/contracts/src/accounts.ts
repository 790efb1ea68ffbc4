import { z } from 'zod'
import { snowflake, timestampMs } from './text.ts'

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
})
export type AccountState = z.infer<typeof accountState>
