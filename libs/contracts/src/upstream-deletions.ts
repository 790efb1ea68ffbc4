import { z } from 'zod'
import { deletionMode } from './federation.ts'
import { namedObject, snowflake, timestampMs } from './text.ts'

/** `not_declared`: the file does not name it any more. */
const upstreamDeletionError = z.enum(['no_answer', 'not_done', 'not_declared']).meta({ id: 'UpstreamDeletionError' })
export type UpstreamDeletionError = z.infer<typeof upstreamDeletionError>

const upstreamDeletion = namedObject('UpstreamDeletion', {
  id: snowflake,
  userId: snowflake,
  upstream: z.string(),
  mode: deletionMode,
  error: upstreamDeletionError.nullable(),
  attempts: z.int(),
  givenAt: timestampMs,
  nextAttemptAt: timestampMs,
})
export const upstreamDeletionsReply = z.object({
  deletions: z.array(upstreamDeletion),
  nextCursor: snowflake.nullable(),
})
