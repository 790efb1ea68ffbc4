import type { EventDefinition } from '@gatehouse/contracts'
import type { EventHandler, Received } from './bus.ts'

export type EventMessage = {
  id: string
  json: string
  requestId: string | undefined
  traceparent?: string
  deliveries: number
}

/** Rejects when the payload does not fit the schema. */
export type MessageHandler = (message: EventMessage) => Promise<void>

export function messageHandler<E extends EventDefinition>(event: E, handler: EventHandler<E>): MessageHandler {
  return async ({ json, ...message }) => {
    const payload = event.payload.parse(JSON.parse(json))
    // The schema has checked it; the compiler does not resolve the conditional type.
    await handler({ ...message, name: event.name, payload } as unknown as Received<E>)
  }
}

export function messageHandlers<E extends EventDefinition>(
  events: E | readonly E[],
  handler: EventHandler<E>,
): ReadonlyMap<string, MessageHandler> {
  const list = 'kind' in events ? [events] : events
  return new Map(list.map((event) => [event.subject, messageHandler(event, handler)]))
}
