import type { CallDefinition } from '@gatehouse/contracts'
import type { Msg } from 'nats'
import type { z } from 'zod'
import type { Context, Subscription } from '../bus.ts'
import { readReply, writeReply } from '../reply.ts'
import type { EventStream } from './event-stream.ts'
import { readContext, writeHeaders } from './message.ts'

const queue = 'responders'

export async function request<Q extends z.ZodType, A extends z.ZodType>(
  { connection, subjectOf }: EventStream,
  call: CallDefinition<Q, A>,
  payload: z.input<Q>,
  options: Context & { timeoutMs: number },
): Promise<z.output<A>> {
  const json = JSON.stringify(call.request.parse(payload))
  const send = {
    timeout: options.timeoutMs,
    headers: writeHeaders({ requestId: options.requestId, traceparent: options.traceparent }),
  }
  const reply = await connection.whenConnected(() => connection.nc.request(subjectOf(call.subject), json, send))
  return readReply(call, reply.string())
}

export async function respond<Q extends z.ZodType, A extends z.ZodType>(
  { connection, log, subjectOf }: EventStream,
  call: CallDefinition<Q, A>,
  handler: (payload: z.output<Q>, context: Context) => Promise<z.input<A>>,
): Promise<Subscription> {
  const underWay = new Set<Promise<void>>()

  async function reply(message: Msg) {
    message.respond(await writeReply(log, call, handler, { json: message.string(), context: readContext(message) }))
  }

  const subscription = connection.nc.subscribe(subjectOf(call.subject), {
    queue,
    callback: (error, message) => {
      if (error) return log.error({ err: error, call: call.subject }, 'NATS subscription refused')
      const replied: Promise<void> = reply(message).finally(() => underWay.delete(replied))
      underWay.add(replied)
    },
  })
  await connection.announceSubscription()
  return {
    async [Symbol.asyncDispose]() {
      if (connection.isUp()) await subscription.drain().catch(() => {})
      else subscription.unsubscribe()
      await Promise.all(underWay)
    },
  }
}
