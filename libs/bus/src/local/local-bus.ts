import { AsyncLocalStorage } from 'node:async_hooks'
import { LRUCache } from 'lru-cache'
import type { Bus, BusLog } from '../bus.ts'
import { BusUnavailable } from '../bus-unavailable.ts'
import { messageHandler, messageHandlers } from '../event-message.ts'
import { rememberedIds } from '../policy.ts'
import { createDurableGroup } from './durable-groups.ts'
import type { DurableGroup } from './durable-groups.ts'
import { createResponders } from './responders.ts'
import { createSubscribers } from './subscribers.ts'

/** Payloads are JSON here too, as over NATS. Disposal delivers accepted messages and waits for handlers. */
export function createLocalBus({ log }: { log: BusLog }): Bus {
  const groups = new Map<string, Map<string, DurableGroup>>()
  const subscribers = createSubscribers(log, 'event handler failed')
  const receivers = createSubscribers(log, 'broadcast handler failed')
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
    async publish(event, payload, { id, requestId, traceparent }) {
      const json = JSON.stringify(event.payload.parse(payload))
      const message = { id, json, requestId, ...(traceparent && { traceparent }), deliveries: 1 }
      if (!open) throw new BusUnavailable('disconnected')
      if (published.has(id)) return
      published.set(id, true)
      subscribers.deliver(event.subject, message)
      for (const group of groups.get(event.subject)?.values() ?? []) group.accept(message)
    },
    async consume(events, group, handler) {
      const handlers = messageHandlers(events, (received) => outside(handler, received))
      const members = [...handlers].map(([subject, handle]) => groupOf(subject, group).join(handle))
      return {
        async [Symbol.asyncDispose]() {
          await Promise.all(members.map((member) => member.leave()))
        },
      }
    },
    subscribe: async (events, handler) =>
      subscribers.add(messageHandlers(events, (received) => outside(handler, received))),
    broadcast(event, payload, { to, requestId } = {}) {
      const json = JSON.stringify(event.payload.parse(payload))
      const message = { id: '', json, requestId, deliveries: 1 }
      if (open) receivers.deliver(broadcastName(event.subject, to), message)
    },
    async onBroadcast(event, handler, { as } = {}) {
      const handle = messageHandler(event, (received) => outside(handler, received))
      return receivers.add(new Map([[broadcastName(event.subject, as), handle]]))
    },
    request: (call, payload, options) => responders.request(call, payload, options),
    respond: async (call, handler) => responders.add(call, (payload, context) => outside(handler, payload, context)),
    flush: async () => undefined,
    onReconnect: () => ({ [Symbol.dispose]: () => undefined }),
    ready: () => open,
    async [Symbol.asyncDispose]() {
      if (!open) return
      open = false
      const all = [...groups.values()].flatMap((ofEvent) => [...ofEvent.values()])
      const left = await Promise.all(all.map((group) => group.finish()))
      await Promise.all([subscribers.finish(), receivers.finish(), responders.finish()])
      const undelivered = left.reduce((sum, count) => sum + count, 0)
      if (undelivered > 0) log.warn({ undelivered }, 'bus closed with undelivered events')
    },
  }
}

function broadcastName(subject: string, name: string | undefined): string {
  return name === undefined ? subject : `${subject} to ${name}`
}
