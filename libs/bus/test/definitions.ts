import { randomUUID } from 'node:crypto'
import { defineBroadcast, defineCall, defineEvent } from '@gatehouse/contracts'
import { z } from 'zod'

/** A number of tests share one NATS prefix: each defines an event of its own. */
export function counted() {
  const subject = `event.test.counted_${randomUUID()}.v1` as const
  return defineEvent({ name: 'Counted', subject, payload: z.object({ n: z.int() }) })
}

/** One of those that may end sessions: in the stream `gatehouse-events`. */
export const decisive = () => ({ ...counted(), stream: 'events' as const })

export function told() {
  const subject = `event.test.told_${randomUUID()}.v1` as const
  return defineBroadcast({ name: 'Told', subject, payload: z.object({ n: z.int() }) })
}

/** Another event beside `counted`, with another payload. */
export function named() {
  const subject = `event.test.named_${randomUUID()}.v1` as const
  return defineEvent({ name: 'Named', subject, payload: z.object({ text: z.string() }) })
}

export function add() {
  return defineCall({
    subject: `call.test.add_${randomUUID()}.v1`,
    request: z.object({ a: z.int(), b: z.int() }),
    reply: z.object({ sum: z.int() }),
  })
}

export function deferred(): { promise: Promise<void>; resolve(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { promise, resolve: () => resolve() }
}
