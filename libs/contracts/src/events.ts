import { z } from 'zod'
import { accountState } from './accounts.ts'
import { defineEvent } from './define.ts'
import { snowflake, timestampMs } from './text.ts'
import { userStatus } from './users.ts'

/** An account was made or changed in a way that decides over tokens. Feeds the caches. */
export const accountChanged = defineEvent({ subject: 'event.account.changed.v1', payload: accountState })

/**
 * All sockets of an account must close: every session gateway hears it, and so does the voice service, which takes
 * the account out of its rooms.
 */
export const accountSessionsEnded = defineEvent({
  subject: 'event.account.sessions-ended.v1',
  payload: z.object({
    userId: snowflake,
    reason: z.enum(['password_reset', 'account_deleted']),
    at: timestampMs,
    /** Of a deleted account: who was to see its presence while its memberships still stood. */
    audience: z.array(snowflake).optional(),
  }),
})

/**
 * Somebody came or went; `recipients` are the users on the addressed node that are to hear of it. `version` rises with
 * every change of a user's status, so that one overtaken on its way is known as such. May be lost.
 */
export const presenceChanged = defineEvent({
  subject: 'event.presence.changed.v1',
  payload: z.object({
    userId: snowflake,
    status: userStatus,
    version: z.number().int(),
    recipients: z.array(snowflake),
  }),
})

/** What the outbox may hold. */
export const durableEvents = [accountChanged, accountSessionsEnded] as const
