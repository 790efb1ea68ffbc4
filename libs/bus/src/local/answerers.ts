import type { CallDefinition } from '@gatehouse/contracts'
import type { z } from 'zod'
import { readAnswer, writeAnswer } from '../answer.ts'
import type { Bus, BusLog, Context, Subscription } from '../bus.ts'
import { BusUnavailable } from '../bus-unavailable.ts'

type Answerer = { answer(json: string, context: Context): Promise<string>; underWay: Set<Promise<unknown>> }

/** Who answers which call; several answerers of one call take turns. */
export function createAnswerers(log: BusLog) {
  const answerers = new Map<string, Answerer[]>()
  let open = true

  async function ask<Q extends z.ZodType, A extends z.ZodType>(
    call: CallDefinition<Q, A>,
    payload: z.input<Q>,
    { timeoutMs, requestId }: Context & { timeoutMs: number },
  ): Promise<z.output<A>> {
    const json = JSON.stringify(call.request.parse(payload)) ?? 'null'
    if (!open) throw new BusUnavailable('disconnected')
    const ofCall = answerers.get(call.subject) ?? []
    const next = ofCall.shift()
    if (!next) throw new BusUnavailable('no-responders')
    ofCall.push(next)
    return readAnswer(call, await withDeadline(track(next, next.answer(json, { requestId })), timeoutMs))
  }

  const add: Bus['answer'] = async (call, handler) => {
    const underWay = new Set<Promise<unknown>>()
    const answer: Answerer['answer'] = (json, context) => writeAnswer(log, call, handler, { json, context })
    const answerer = { answer, underWay }
    const ofCall = answerers.get(call.subject) ?? []
    answerers.set(call.subject, ofCall)
    ofCall.push(answerer)
    return {
      async [Symbol.asyncDispose]() {
        const place = ofCall.indexOf(answerer)
        if (place >= 0) ofCall.splice(place, 1)
        await Promise.all(underWay)
      },
    } satisfies Subscription
  }

  return {
    ask,
    add,
    async finish() {
      open = false
      await Promise.all([...answerers.values()].flat().flatMap((answerer) => [...answerer.underWay]))
    },
  }
}

function track(answerer: Answerer, answer: Promise<string>): Promise<string> {
  answerer.underWay.add(answer)
  return answer.finally(() => answerer.underWay.delete(answer))
}

async function withDeadline<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new BusUnavailable('timeout')), timeoutMs)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
