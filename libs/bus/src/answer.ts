import type { CallDefinition } from '@gatehouse/contracts'
import { Refusal, commonErrors, isRefusal } from '@gatehouse/runtime'
import { z } from 'zod'
import type { BusLog, Context } from './bus.ts'

const answerSchema = z.union([
  z.object({
    refusal: z.object({
      code: z.string(),
      status: z.int(),
      message: z.string(),
      fields: z.record(z.string(), z.unknown()),
      headers: z.record(z.string(), z.string()),
    }),
  }),
  z.object({ value: z.unknown() }),
])

/** Runs an answerer on a request's JSON. Gives the answer's JSON: a value or a refusal, never silence. */
export async function writeAnswer(
  log: BusLog,
  call: CallDefinition,
  handler: (payload: never, context: Context) => Promise<unknown>,
  request: { json: string; context: Context },
): Promise<string> {
  try {
    const payload = call.request.parse(JSON.parse(request.json)) as never
    return JSON.stringify({ value: call.reply.parse(await handler(payload, request.context)) })
  } catch (error) {
    if (!isRefusal(error)) log.error({ err: error, call: call.subject, ...request.context }, 'a call failed')
    const { code, status, message, fields, headers } = isRefusal(error) ? error : commonErrors.internal()
    return JSON.stringify({ refusal: { code, status, message, fields, headers } })
  }
}

/** The value in an answer's JSON. Throws the refusal that the answerer gave. */
export function readAnswer<A extends z.ZodType>(call: CallDefinition<z.ZodType, A>, json: string): z.output<A> {
  const answer = answerSchema.parse(JSON.parse(json))
  if (!('refusal' in answer)) return call.reply.parse(answer.value)
  const { code, status, message, fields, headers } = answer.refusal
  throw new Refusal(code, { status, message }, { fields, headers })
}
