import type { EventDefinition } from '@gatehouse/contracts'
import { currentSpan, runInSpan, type Tracing } from '@gatehouse/runtime'
import type { Bus, EventHandler, Received } from './bus.ts'

const system = { 'messaging.system': 'gatehouse' }

/** The header `traceparent` carries the trace. Handlers run in a span of it; broadcasts have none. */
export function traceBus(bus: Bus, tracing: Tracing): Bus {
  async function runTraced<T>(
    parent: string | undefined,
    [name, kind]: [name: string, kind: 'consumer' | 'server'],
    work: () => Promise<T>,
  ): Promise<T> {
    if (parent === undefined) return await work()
    return await runInSpan(tracing.startSpan(name, kind, { parent, attributes: system }), work)
  }

  const traced =
    <E extends EventDefinition>(handler: EventHandler<E>): EventHandler<E> =>
    async (received) => {
      const { name, traceparent } = received as Received
      await runTraced(traceparent, [`consume ${name}`, 'consumer'], () => handler(received))
    }

  return {
    ...bus,
    async publish(event, payload, options) {
      const parent = event.stream ? (options?.traceparent ?? currentSpan()?.traceparent) : undefined
      if (parent === undefined) return await bus.publish(event, payload, options)
      const span = tracing.startSpan(`publish ${event.name}`, 'producer', { parent, attributes: system })
      await runInSpan(span, () => bus.publish(event, payload, { ...options, traceparent: span.traceparent }))
    },
    subscribe: (events, handler, options) => bus.subscribe(events, traced(handler), options),
    async request(call, payload, options) {
      const span = currentSpan()?.startChild(`call ${call.subject}`, 'client', system)
      if (!span) return await bus.request(call, payload, options)
      return await runInSpan(span, () => bus.request(call, payload, { ...options, traceparent: span.traceparent }))
    },
    respond: (call, handler) =>
      bus.respond(call, (payload, context) =>
        runTraced(context.traceparent, [`answer ${call.subject}`, 'server'], () => handler(payload, context)),
      ),
  }
}
