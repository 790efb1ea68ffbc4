import { z } from 'zod'
import { upstreamLimits } from '../constants/limits.ts'
import type { EndpointDeclaration } from '../define.ts'
import { snowflake } from '../text.ts'
import { userReply } from '../users.ts'
import type { EndpointName } from './table.ts'

/** Rises with each change of what is told of an account. Whole microseconds: JavaScript reads it exactly. */
const version = z.number().int().min(0)

const toldAccount = userReply
  .pick({ id: true, username: true, displayName: true, avatar: true })
  .extend({ isDeleted: z.boolean(), version })
  .meta({ id: 'ToldAccount' })
export type ToldAccount = z.infer<typeof toldAccount>

const idsUpTo = (max: number) => z.object({ ids: z.array(snowflake).min(1).max(max) })

/** Contract: 3, upstreams. */
export const upstreamDeclarations = {
  readAccounts: {
    summary: 'Names and pictures of accounts by their ids',
    body: idsUpTo(upstreamLimits.accountIds),
    replies: { 200: z.object({ accounts: z.array(toldAccount) }) },
  },
  listAccountChanges: {
    summary: 'The accounts whose version is higher, in the order of versions',
    query: z.object({
      after: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
      limit: z.coerce.number().int().min(1).max(upstreamLimits.changesPage).default(upstreamLimits.changesPage),
    }),
    replies: { 200: z.object({ accounts: z.array(toldAccount), next: version, more: z.boolean() }) },
    refusals: ['version_unknown'],
  },
  readPresences: {
    summary: 'Who of these accounts is online',
    body: idsUpTo(upstreamLimits.audienceIds),
    replies: { 200: z.object({ presences: z.record(z.string(), z.literal('online')) }) },
  },
} as const satisfies Partial<Record<EndpointName, EndpointDeclaration>>
