import { z } from 'zod'

/** The decimal text of a 64-bit id. */
export const idText = z
  .string()
  .regex(/^\d{1,19}$/, { error: 'must be an id', abort: true })
  .refine((id) => BigInt(id) < 2n ** 63n, { error: 'must be an id' })

/** Text for people: trimmed, and such as PostgreSQL stores. Lengths count code points. */
const text = (most: number) =>
  z
    .string()
    .trim()
    .refine((value) => value.isWellFormed() && !value.includes('\0'), { error: 'has invalid characters' })
    .refine((value) => value !== '' && [...value].length <= most, { error: `must have 1 to ${most} characters` })

export const nameBody = z.object({ name: text(40) })
export const messageBody = z.object({ text: text(2_000) })
export const inviteBody = z.object({ username: text(100).transform((name) => name.toLowerCase()) })
export const ofSpace = z.object({ spaceId: idText })
export const ofChannel = z.object({ channelId: idText })
export const ofMessage = z.object({ messageId: idText })
export const page = z.object({ before: idText.optional(), after: idText.optional() })
