import { ownedSpaces, snowflake } from '@gatehouse/contracts'
import { z } from 'zod'

// For people: docs/integrate/ask-and-answer.md

/** `users` of the question, and who shares something with each of them. */
const audienceGroup = z.object({ users: z.array(snowflake).max(100), audience: z.array(snowflake).max(10_000) })
export type AudienceGroup = z.infer<typeof audienceGroup>

/** What an upstream may declare in `answers`. A larger reply counts as none. `bytes` is below the largest message of NATS. */
export const upstreamQuestions = {
  audience: {
    subject: 'audience',
    timeoutMs: 500,
    bytes: 256 * 1024,
    reply: z.object({ groups: z.array(audienceGroup).max(1_000) }),
  },
  ownedSpaces: {
    subject: 'owned-spaces',
    timeoutMs: 2_000,
    bytes: 64 * 1024,
    reply: z.object({ ownedSpaces: ownedSpaces.max(100) }),
  },
  members: {
    subject: 'members',
    timeoutMs: 500,
    bytes: 256 * 1024,
    reply: z.object({ members: z.array(snowflake).max(10_000) }),
  },
  export: {
    subject: 'export',
    timeoutMs: 10_000,
    bytes: 512 * 1024,
    reply: z.object({ rows: z.array(z.looseObject({})), next: z.string().min(1).max(200).optional() }),
  },
  deletion: { subject: 'deletion', timeoutMs: 10_000, bytes: 4 * 1024, reply: z.object({ done: z.boolean() }) },
} as const
export type UpstreamQuestionName = keyof typeof upstreamQuestions
export const upstreamQuestionNames = Object.keys(upstreamQuestions) as UpstreamQuestionName[]
