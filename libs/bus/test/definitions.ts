import { randomUUID } from 'node:crypto'
import { defineCall, defineEvent } from '@gatehouse/contracts'
import { z } from 'zod'

/** An event of one's own for each test, so that none hears another's. */
export function counted() {
  return defineEvent({ subject: `event.test.counted_${randomUUID()}.v1`, payload: z.object({ n: z.int() }) })
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
