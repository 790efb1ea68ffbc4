import type { CallDefinition, EventDefinition } from '@gatehouse/contracts'
import { Refusal, toErrorResponse } from '@gatehouse/runtime'
import { z } from 'zod'
import type { BusLog, Context, Envelope, EventHandler, Received } from './bus.ts'

export type EventMessage = Envelope & { json: string }

/** Rejects when the payload does not fit the schema. */
export type MessageHandler = (message: EventMessage) => Promise<void>

export function messageHandlers<E extends EventDefinition>(events: E | readonly E[], handler: EventHandler<E>) {
  const list = 'kind' in events ? [events] : events
  return list.map((event) => ({
    event,
    async handle({ json, ...message }: EventMessage): Promise<void> {
      const payload = event.payload.parse(JSON.parse(json))
      // The schema has checked it; the compiler does not resolve the conditional type.
      await handler({ ...message, name: event.name, payload } as unknown as Received<E>)
    },
  }))
}

/** Handles one message after the other. A failure is logged and does not stop the next. */
export function createSequence(log: BusLog) {
  let work = Promise.resolve()
  return {
    add(event: string, message: EventMessage, handle: MessageHandler): void {
      const { id, requestId } = message
      const logFailure = (err: unknown) => log.error({ err, event, id, requestId }, 'event handler failed')
      work = work.then(() => handle(message)).catch(logFailure)
    },
    finished: () => work,
  }
}

const refusalSchema = z.object({
  code: z.string(),
  status: z.int(),
  message: z.string(),
  fields: z.record(z.string(), z.unknown()),
  headers: z.record(z.string(), z.string()),
})
const replySchema = z.union([z.object({ refusal: refusalSchema }), z.object({ value: z.unknown() })])

/** Gives the reply's JSON: a value or a refusal. Contract: 1, errors. */
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
