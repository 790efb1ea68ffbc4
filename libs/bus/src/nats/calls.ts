import type { CallDefinition } from '@gatehouse/contracts'
import type { Msg } from 'nats'
import type { z } from 'zod'
import { readAnswer, writeAnswer } from '../answer.ts'
import type { Context, Subscription } from '../bus.ts'
import type { EventStream } from './event-stream.ts'
import { readContext, writeHeaders } from './message.ts'

const QUEUE = 'answerers'

export async function requestAnswer<Q extends z.ZodType, A extends z.ZodType>(
  { link, subjectOf }: EventStream,
  call: CallDefinition<Q, A>,
  payload: z.input<Q>,
  options: Context & { timeoutMs: number },
): Promise<z.output<A>> {
  const json = JSON.stringify(call.request.parse(payload)) ?? 'null'
  const send = { timeout: options.timeoutMs, headers: writeHeaders({ requestId: options.requestId }) }
  const reply = await link.whileUp(() => link.nc.request(subjectOf(call.subject), json, send))
  return readAnswer(call, reply.string())
}

export async function answerCalls<Q extends z.ZodType, A extends z.ZodType>(
  { link, log, subjectOf }: EventStream,
  call: CallDefinition<Q, A>,
  handler: (payload: z.output<Q>, context: Context) => Promise<z.input<A>>,
): Promise<Subscription> {
  const underWay = new Set<Promise<void>>()

  async function answer(message: Msg) {
    message.respond(await writeAnswer(log, call, handler, { json: message.string(), context: readContext(message) }))
  }

  const subscription = link.nc.subscribe(subjectOf(call.subject), {
    queue: QUEUE,
    callback: (error, message) => {
      if (error) return log.error({ err: error, call: call.subject }, 'NATS refused a subscription')
      const answered: Promise<void> = answer(message).finally(() => underWay.delete(answered))
      underWay.add(answered)
    },
  })
  // The server knows of it before this resolves, so whoever is told to ask may ask.
  await link.whileUp(() => link.nc.flush())
  return {
    async [Symbol.asyncDispose]() {
      if (link.isUp()) await subscription.drain().catch(() => {})
      else subscription.unsubscribe()
      await Promise.all(underWay)
    },
  }
}
