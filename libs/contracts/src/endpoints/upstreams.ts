import { z } from 'zod'
import { upstreamLimits } from '../constants/limits.ts'
import { snowflake } from '../text.ts'
import { userReply } from '../users.ts'
import { endpoint, ok, type Declarations } from './declaration.ts'

/** Rises with each change of what is told of an account. Whole microseconds: JavaScript reads it exactly. */
const version = z.number().int().min(0)

const toldAccount = userReply
  .pick({ id: true, username: true, displayName: true, avatar: true })
  .extend({ isDeleted: z.boolean(), version })
  .meta({ id: 'ToldAccount' })
export type ToldAccount = z.infer<typeof toldAccount>

const accounts = z.array(toldAccount)
const presences = z.record(z.string(), z.literal('online'))
const idsUpTo = (max: number) => z.object({ ids: z.array(snowflake).min(1).max(max) })

/** What an upstream may ask, with a statement that it has signed. Contract: 3, upstreams. */
export const upstreamDeclarations = {
  readAccounts: endpoint('Names and pictures of accounts by their ids', ok(z.object({ accounts })), {
    body: idsUpTo(upstreamLimits.accountIds),
  }),
  listAccountChanges: endpoint(
    'The accounts whose version is higher, in the order of versions',
    ok(z.object({ accounts, next: version, more: z.boolean() })),
    {
      query: z.object({
        after: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
        limit: z.coerce.number().int().min(1).max(upstreamLimits.changesPage).default(upstreamLimits.changesPage),
      }),
      refusals: ['version_unknown'],
    },
  ),
  readPresences: endpoint('Who of these accounts is online', ok(z.object({ presences })), {
    body: idsUpTo(upstreamLimits.audienceIds),
  }),
} satisfies Declarations
