import { AsyncLocalStorage } from 'node:async_hooks'
import { LRUCache } from 'lru-cache'
import { BusUnavailable, type Bus, type BusLog } from '../bus.ts'
import { createSequence, messageHandlers, type EventMessage } from '../event-message.ts'
import { rememberedIds } from '../policy.ts'
import { createDurableGroup, type DurableGroup } from './durable-group.ts'
import { createResponders } from './responders.ts'

type Subscriber = (message: EventMessage) => void

/** Payloads are JSON here too, as over NATS. Disposal delivers accepted messages and waits for handlers. */
export function createLocalBus({ log }: { log: BusLog }): Bus {
  const groups = new Map<string, Map<string, DurableGroup>>()
  const subscribers = new Map<string, Set<Subscriber>>()
  const sequences = new Set<ReturnType<typeof createSequence>>()
  const responders = createResponders(log)
  const published = new LRUCache<string, true>({ max: rememberedIds })
  // A handler must not inherit the sender's context, such as a transaction.
  const outside = AsyncLocalStorage.snapshot()
  let open = true

  function groupOf(event: string, group: string): DurableGroup {
    const ofEvent = groups.get(event) ?? new Map<string, DurableGroup>()
    const found = ofEvent.get(group) ?? createDurableGroup({ event, group }, log)
    groups.set(event, ofEvent.set(group, found))
    return found
  }

  return {
    async publish(event, payload, { id = '', to, requestId, traceparent } = {}) {
      const json = JSON.stringify(event.payload.parse(payload))
      const message = { id, json, requestId, ...(traceparent && { traceparent }), deliveries: 1 }
      if (!open && event.kept) throw new BusUnavailable('disconnected')
      if (!open || published.has(id)) return
      if (id) published.set(id, true)
      for (const deliver of subscribers.get(named(event.subject, to)) ?? []) deliver(message)
      for (const group of groups.get(event.subject)?.values() ?? []) group.accept(message)
    },
    async subscribe(events, handler, { group, as } = {}) {
      const handlers = messageHandlers(events, (received) => outside(handler, received))
      const subscription = new AsyncDisposableStack()
      const sequence = createSequence(log)
      sequences.add(sequence)
      subscription.defer(async () => {
        await sequence.finished()
        sequences.delete(sequence)
      })
      for (const { event, handle } of handlers) {
        const { subject, kept } = event
        if (kept && group !== undefined) {
          subscription.defer(groupOf(subject, group).join(handle))
          continue
        }
        const deliver: Subscriber = (message) => sequence.add(subject, message, handle)
        const name = named(subject, kept ? undefined : as)
        const ofName = subscribers.get(name) ?? new Set()
        subscribers.set(name, ofName.add(deliver))
        subscription.defer(() => void ofName.delete(deliver))
      }
      return subscription
    },
    request: (call, payload, options) => responders.request(call, payload, options),
    respond: (call, handler) => responders.add(call, (payload, context) => outside(handler, payload, context)),
    flush: async () => undefined,
    onReconnect: () => ({ [Symbol.dispose]: () => undefined }),
    ready: () => open,
    async [Symbol.asyncDispose]() {
      if (!open) return
      open = false
      const all = [...groups.values()].flatMap((ofEvent) => [...ofEvent.values()])
      const left = await Promise.all(all.map((group) => group.finish()))
      await Promise.all([...[...sequences].map((sequence) => sequence.finished()), responders.finish()])
      const undelivered = left.reduce((sum, count) => sum + count, 0)
      if (undelivered > 0) log.warn({ undelivered }, 'bus closed with undelivered events')
    },
  }
}

function named(subject: string, name: string | undefined): string {
  return name === undefined ? subject : `${subject} to ${name}`
}
