import type { CallDefinition } from '@gatehouse/contracts'
import { withTimeout } from '@gatehouse/runtime'
import type { z } from 'zod'
import { BusUnavailable, type Bus, type BusLog, type Context } from '../bus.ts'
import { readReply, writeReply } from '../reply.ts'

type Responder = { reply(json: string, context: Context): Promise<string>; underWay: Set<Promise<unknown>> }

/** Several of one call take turns. */
export function createResponders(log: BusLog) {
  const responders = new Map<string, Responder[]>()
  let open = true

  async function request<Q extends z.ZodType, A extends z.ZodType>(
    call: CallDefinition<Q, A>,
    payload: z.input<Q>,
    { timeoutMs, ...context }: Context & { timeoutMs: number },
  ): Promise<z.output<A>> {
    const json = JSON.stringify(call.request.parse(payload))
    if (!open) throw new BusUnavailable('disconnected')
    const ofCall = responders.get(call.subject) ?? []
    const next = ofCall.shift()
    if (!next) throw new BusUnavailable('no-responders')
    ofCall.push(next)
    const reply = next.reply(json, context)
    next.underWay.add(reply)
    const replied = reply.finally(() => next.underWay.delete(reply))
    return readReply(call, await withTimeout(replied, timeoutMs, () => new BusUnavailable('timeout')))
  }

  const add: Bus['respond'] = async (call, handler) => {
    const responder: Responder = {
      reply: (json, context) => writeReply(log, call, handler, { json, context }),
      underWay: new Set(),
    }
    const ofCall = responders.get(call.subject) ?? []
    responders.set(call.subject, ofCall)
    ofCall.push(responder)
    return {
      async [Symbol.asyncDispose]() {
        const index = ofCall.indexOf(responder)
        if (index >= 0) ofCall.splice(index, 1)
        await Promise.all(responder.underWay)
      },
    }
  }

  return {
    request,
    add,
    async finish() {
      open = false
      await Promise.all([...responders.values()].flat().flatMap((responder) => [...responder.underWay]))
    },
  }
}
