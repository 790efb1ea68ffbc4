import type { BusLog, Subscription } from '../bus.ts'
import type { EventMessage, MessageHandler } from '../event-message.ts'

type Subscriber = { handlers: ReadonlyMap<string, MessageHandler>; work: Promise<void> }

/** Each gets every message in one order. A failure does not stop the next. */
export function createSubscribers(log: BusLog, failure: string) {
  const subscribers = new Set<Subscriber>()

  return {
    add(handlers: Subscriber['handlers']): Subscription {
      const subscriber: Subscriber = { handlers, work: Promise.resolve() }
      subscribers.add(subscriber)
      return {
        async [Symbol.asyncDispose]() {
          subscribers.delete(subscriber)
          await subscriber.work
        },
      }
    },
    deliver(subject: string, message: EventMessage) {
      const { id, requestId } = message
      for (const subscriber of subscribers) {
        const handle = subscriber.handlers.get(subject)
        if (!handle) continue
        subscriber.work = subscriber.work
          .then(() => handle(message))
          .catch((err: unknown) => log.error({ err, event: subject, id, requestId }, failure))
      }
    },
    async finish() {
      await Promise.all([...subscribers].map((subscriber) => subscriber.work))
    },
  }
}
