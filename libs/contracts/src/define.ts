import type { z } from 'zod'

/**
 * docs/reference/events.md. Subject: `event.`, then the name and a version. `kept` is the stream: `events` is for what decides over
 * tokens, so that nothing else can fill it. A broadcast is not kept and may be lost.
 */
export type EventDefinition<P extends z.ZodType = z.ZodType, N extends string = string> = {
  kind: 'event'
  name: N
  subject: string
  payload: P
  stream: 'events' | 'changes' | false
  /** The stream keeps the last event only for each value of this field. */
  lastOf?: string
}

export type CallDefinition<Q extends z.ZodType = z.ZodType, A extends z.ZodType = z.ZodType> = {
  kind: 'call'
  subject: `call.${string}`
  request: Q
  reply: A
}

type Definition<N extends string, P extends z.ZodType> = { name: N; subject: `event.${string}`; payload: P }

export function defineEvent<N extends string, P extends z.ZodType>(
  definition: Definition<N, P> & { stream?: 'events'; lastOf?: string },
) {
  return { kind: 'event', stream: 'changes', ...definition } satisfies EventDefinition<P, N>
}

export function defineBroadcast<N extends string, P extends z.ZodType>(definition: Definition<N, P>) {
  return { kind: 'event', stream: false, ...definition } satisfies EventDefinition<P, N>
}

export function defineCall<Q extends z.ZodType, A extends z.ZodType>(definition: Omit<CallDefinition<Q, A>, 'kind'>) {
  return { kind: 'call', ...definition } satisfies CallDefinition<Q, A>
}
