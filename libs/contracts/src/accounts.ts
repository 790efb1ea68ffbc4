import { z } from 'zod'
import { snowflake, timestampMs } from './text.ts'

/**
 * What every door needs to know of an account before it lets a token pass. `version` rises with every change, in the
 * transaction that makes it, so that a late or repeated write can never bring back an older state.
 */
export const accountState = z.object({
  userId: snowflake,
  version: z.number().int().nonnegative(),
  username: z.string(),
  isDeleted: z.boolean(),
  isAdmin: z.boolean(),
  passwordChangedAt: timestampMs.nullable(),
  /** When an admin reset or a deletion last ended all of the account's sockets. */
  sessionsEndedAt: timestampMs.nullable(),
})
export type AccountState = z.infer<typeof accountState>
