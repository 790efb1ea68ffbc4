import { AsyncLocalStorage } from 'node:async_hooks'
import type { EventDefinition } from '@gatehouse/contracts'
import { systemRandom } from '@gatehouse/runtime'
import type { z } from 'zod'
import type { Bus, BusLog, Receive } from '../bus.ts'
import { BusUnavailable } from '../bus-unavailable.ts'
import { createAnswerers } from './answerers.ts'
import { createDurableGroup } from './durable-groups.ts'
import type { DurableGroup, Sent } from './durable-groups.ts'
import { createListeners } from './listeners.ts'

const REMEMBERED_IDS = 10_000

/**
 * The bus within one process. Payloads travel as JSON here too, so that what works here works over NATS. Disposing it
 * hands out what was accepted and waits for the handlers under way.
 */
export function createLocalBus({ log }: { log: BusLog }): Bus {
  const groups = new Map<string, Map<string, DurableGroup>>()
  const listeners = createListeners(log)
  const announced = createListeners(log)
  const answerers = createAnswerers(log)
  const published = new Set<string>()
  // A handler is no part of what the sender is doing, a transaction for example: it must not inherit its context.
  const outside = AsyncLocalStorage.snapshot()
  let open = true

  function remember(id: string): boolean {
    if (published.has(id)) return false
    published.add(id)
    if (published.size > REMEMBERED_IDS) published.delete(published.values().next().value!)
    return true
  }

  function groupOf(event: string, group: string): DurableGroup {
    const ofEvent = groups.get(event) ?? new Map<string, DurableGroup>()
    const found = ofEvent.get(group) ?? createDurableGroup({ event, group }, log)
    groups.set(event, ofEvent.set(group, found))
    return found
  }

  return {
    async publish(event, payload, { id, requestId }) {
      const sent = { id, json: JSON.stringify(event.payload.parse(payload)), requestId }
      if (!open) throw new BusUnavailable('disconnected')
      if (!remember(id)) return
      listeners.tell(event.subject, sent)
      for (const group of groups.get(event.subject)?.values() ?? []) group.accept(sent)
    },
    async subscribe(event, group, handler) {
      const member = groupOf(event.subject, group).join(reader(event, (received) => outside(handler, received)))
      return { [Symbol.asyncDispose]: () => member.leave() }
    },
    listen: async (event, handler) =>
      listeners.add(
        event.subject,
        reader(event, (received) => outside(handler, received)),
      ),
    announce(event, payload, { to, requestId } = {}) {
      const json = JSON.stringify(event.payload.parse(payload))
      if (open) announced.tell(announcedName(event, to), { id: systemRandom.uuid(), json, requestId })
    },
    hear: async (event, handler, { as } = {}) =>
      announced.add(
        announcedName(event, as),
        reader(event, (received) => outside(handler, received)),
      ),
    request: (call, payload, options) => answerers.ask(call, payload, options),
    answer: async (call, handler) => answerers.add(call, (payload, context) => outside(handler, payload, context)),
    ready: () => open,
    async [Symbol.asyncDispose]() {
      if (!open) return
      open = false
      const all = [...groups.values()].flatMap((ofEvent) => [...ofEvent.values()])
      const left = await Promise.all(all.map((group) => group.finish()))
      await Promise.all([listeners.finish(), announced.finish(), answerers.finish()])
      const undelivered = left.reduce((sum, count) => sum + count, 0)
      if (undelivered > 0) log.warn({ undelivered }, 'the bus closed with events that no subscriber took')
    },
  }
}

function reader<P extends z.ZodType>(event: EventDefinition<P>, handler: Receive<P>) {
  return async ({ id, json, requestId, deliveries = 1 }: Sent & { deliveries?: number }): Promise<void> =>
    handler({ id, payload: event.payload.parse(JSON.parse(json)), requestId, deliveries })
}

function announcedName(event: EventDefinition, name: string | undefined): string {
  return name === undefined ? event.subject : `${event.subject} to ${name}`
}
