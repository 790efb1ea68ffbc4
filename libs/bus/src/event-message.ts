import type { EventDefinition } from '@gatehouse/contracts'
import type { EventHandler, Received } from './bus.ts'

/** An event as the transport carries it. */
export type EventMessage = {
  id: string
  json: string
  requestId: string | undefined
  traceparent?: string
  deliveries: number
}

/** Parses a message and passes it on; rejects when its payload does not fit the schema. */
export type MessageHandler = (message: EventMessage) => Promise<void>

export function messageHandler<E extends EventDefinition>(event: E, handler: EventHandler<E>): MessageHandler {
  return async ({ json, ...message }) => {
    const payload = event.payload.parse(JSON.parse(json))
    // The schema has checked what the type says; the compiler does not resolve the conditional type of a generic.
    await handler({ ...message, name: event.name, payload } as unknown as Received<E>)
  }
}

/** What handles the messages of each event, by its subject. */
export function messageHandlers<E extends EventDefinition>(
  events: E | readonly E[],
  handler: EventHandler<E>,
): ReadonlyMap<string, MessageHandler> {
  const list = 'kind' in events ? [events] : events
  return new Map(list.map((event) => [event.subject, messageHandler(event, handler)]))
}
