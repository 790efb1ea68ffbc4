import type { z } from 'zod'

/** A fact that has happened, by its name in docs/events.md. Its subject starts with `event.` and ends with its version. */
export type EventDefinition<P extends z.ZodType = z.ZodType, N extends string = string> = {
  kind: 'event'
  name: N
  subject: string
  payload: P
}

/** A question one service asks another. Its subject starts with `call.`. */
export type CallDefinition<Q extends z.ZodType = z.ZodType, A extends z.ZodType = z.ZodType> = {
  kind: 'call'
  subject: string
  request: Q
  reply: A
}

export function defineEvent<N extends string, P extends z.ZodType>(definition: {
  name: N
  subject: `event.${string}`
  payload: P
}) {
  return { kind: 'event', ...definition } satisfies EventDefinition<P, N>
}

export function defineCall<Q extends z.ZodType, A extends z.ZodType>(definition: {
  subject: `call.${string}`
  request: Q
  reply: A
}) {
  return { kind: 'call', ...definition } satisfies CallDefinition<Q, A>
}
