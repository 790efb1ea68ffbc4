import type { EventDefinition } from '@gatehouse/contracts'
import type { BusLog, EventHandler, Received } from './bus.ts'

export type EventMessage = {
  id: string
  json: string
  requestId: string | undefined
  traceparent?: string
  deliveries: number
}

/** Rejects when the payload does not fit the schema. */
export type MessageHandler = (message: EventMessage) => Promise<void>

export function messageHandlers<E extends EventDefinition>(
  events: E | readonly E[],
  handler: EventHandler<E>,
): { event: E; handle: MessageHandler }[] {
  const list = 'kind' in events ? [events] : events
  return list.map((event) => ({
    event,
    async handle({ json, ...message }) {
      const payload = event.payload.parse(JSON.parse(json))
      // The schema has checked it; the compiler does not resolve the conditional type.
      await handler({ ...message, name: event.name, payload } as unknown as Received<E>)
    },
  }))
}

/** Handles one message after the other. A failure is logged and does not stop the next. */
export function createSequence(log: BusLog) {
  let work = Promise.resolve()
  return {
    add(event: string, message: EventMessage, handle: MessageHandler): void {
      const { id, requestId } = message
      const logFailure = (err: unknown) => log.error({ err, event, id, requestId }, 'event handler failed')
      work = work.then(() => handle(message)).catch(logFailure)
    },
    finished: () => work,
  }
}
