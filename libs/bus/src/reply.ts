import type { CallDefinition } from '@gatehouse/contracts'
import { Refusal, toErrorResponse } from '@gatehouse/runtime'
import { z } from 'zod'
import type { BusLog, Context } from './bus.ts'

const replySchema = z.union([
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

/** Gives the reply's JSON: a value or a refusal. Contract: 1. */
export async function writeReply<Q extends z.ZodType, A extends z.ZodType>(
  log: BusLog,
  call: CallDefinition<Q, A>,
  handler: (payload: z.output<Q>, context: Context) => Promise<z.input<A>>,
  request: { json: string; context: Context },
): Promise<string> {
  try {
    const payload = call.request.parse(JSON.parse(request.json))
    return JSON.stringify({ value: call.reply.parse(await handler(payload, request.context)) })
  } catch (err) {
    const { refusal, fault } = toErrorResponse(err)
    if (fault) log.error({ err, call: call.subject, requestId: request.context.requestId }, 'call failed')
    const { code, status, message, fields, headers } = refusal
    return JSON.stringify({ refusal: { code, status, message, fields, headers } })
  }
}

/** Throws the responder's refusal. */
export function readReply<A extends z.ZodType>(call: CallDefinition<z.ZodType, A>, json: string): z.output<A> {
  const reply = replySchema.parse(JSON.parse(json))
  if (!('refusal' in reply)) return call.reply.parse(reply.value)
  const { code, status, message, fields, headers } = reply.refusal
  throw new Refusal(code, { status, text: message }, { fields, headers })
}
