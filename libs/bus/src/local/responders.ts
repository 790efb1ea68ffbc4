import type { CallDefinition } from '@gatehouse/contracts'
import { withTimeout } from '@gatehouse/runtime'
import type { z } from 'zod'
import type { Bus, BusLog, Context, Subscription } from '../bus.ts'
import { BusUnavailable } from '../bus-unavailable.ts'
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
    const reply = track(next, next.reply(json, context))
    return readReply(call, await withTimeout(reply, timeoutMs, () => new BusUnavailable('timeout')))
  }

  const add: Bus['respond'] = async (call, handler) => {
    const reply: Responder['reply'] = (json, context) => writeReply(log, call, handler, { json, context })
    const responder: Responder = { reply, underWay: new Set() }
    const ofCall = responders.get(call.subject) ?? []
    responders.set(call.subject, ofCall)
    ofCall.push(responder)
    return {
      async [Symbol.asyncDispose]() {
        const index = ofCall.indexOf(responder)
        if (index >= 0) ofCall.splice(index, 1)
        await Promise.all(responder.underWay)
      },
    } satisfies Subscription
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

function track(responder: Responder, reply: Promise<string>): Promise<string> {
  responder.underWay.add(reply)
  return reply.finally(() => responder.underWay.delete(reply))
}
