import { z } from 'zod'
import { snowflake, timestampMs } from './text.ts'

/**
 * What decides whether a token of an account is accepted. `version` rises with every change, in the transaction that
 * makes it, so that a late or repeated write never restores an older state.
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
