import type { EventDefinition } from '@gatehouse/contracts'
import { currentSpan, runInSpan, type Tracing } from '@gatehouse/runtime'
import type { Bus, Context, EventHandler, Received } from './bus.ts'

const system = { 'messaging.system': 'gatehouse' }

/** The header `traceparent` carries the trace. Handlers run in a span of it; broadcasts have none. */
export function traceBus(bus: Bus, tracing: Tracing): Bus {
  function traced<E extends EventDefinition>(handler: EventHandler<E>): EventHandler<E> {
    return async (received) => {
      const { name, traceparent: parent } = received as Received
      if (parent === undefined) return await handler(received)
      const span = tracing.startSpan(`consume ${name}`, 'consumer', { parent, attributes: system })
      await runInSpan(span, () => handler(received))
    }
  }

  return {
    ...bus,
    async publish(event, payload, options) {
      const parent = options.traceparent ?? currentSpan()?.traceparent
      if (parent === undefined) return await bus.publish(event, payload, options)
      const span = tracing.startSpan(`publish ${event.name}`, 'producer', { parent, attributes: system })
      await runInSpan(span, () => bus.publish(event, payload, { ...options, traceparent: span.traceparent }))
    },
    consume: (events, group, handler) => bus.consume(events, group, traced(handler)),
    subscribe: (events, handler) => bus.subscribe(events, traced(handler)),
    async request(call, payload, options) {
      const span = currentSpan()?.startChild(`call ${call.subject}`, 'client', system)
      if (!span) return await bus.request(call, payload, options)
      return await runInSpan(span, () => bus.request(call, payload, { ...options, traceparent: span.traceparent }))
    },
    respond: (call, handler) =>
      bus.respond(call, async (payload, context: Context) => {
        const { traceparent: parent } = context
        if (parent === undefined) return await handler(payload, context)
        const span = tracing.startSpan(`answer ${call.subject}`, 'server', { parent, attributes: system })
        return await runInSpan(span, () => handler(payload, context))
      }),
  }
}
