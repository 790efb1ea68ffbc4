import type { BusLog, Subscription } from '../bus.ts'
import type { Sent } from './durable-groups.ts'

type Listener = { hear(sent: Sent): Promise<void>; work: Promise<void> }

/** Those who each hear everything said under a name, in order. A failing one is logged and goes on with the next. */
export function createListeners(log: BusLog) {
  const listeners = new Map<string, Set<Listener>>()

  return {
    add(name: string, hear: Listener['hear']): Subscription {
      const listener: Listener = { hear, work: Promise.resolve() }
      const sameName = listeners.get(name) ?? new Set()
      listeners.set(name, sameName.add(listener))
      return {
        async [Symbol.asyncDispose]() {
          sameName.delete(listener)
          await listener.work
        },
      }
    },
    tell(name: string, sent: Sent) {
      for (const listener of listeners.get(name) ?? []) {
        listener.work = listener.work
          .then(() => listener.hear(sent))
          .catch((error: unknown) => log.error({ err: error, event: name, id: sent.id }, 'a listener failed'))
      }
    },
    async finish() {
      const all = [...listeners.values()].flatMap((sameName) => [...sameName])
      await Promise.all(all.map((listener) => listener.work))
    },
  }
}
