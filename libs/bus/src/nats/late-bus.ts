import { setTimeout as pause } from 'node:timers/promises'
import type { EventDefinition } from '@gatehouse/contracts'
import { backoffMs, systemClock } from '@gatehouse/runtime'
import { BusUnavailable } from '../bus-unavailable.ts'
import type { Bus, BusLog, EventHandler, PlainSubjects, Subscription } from '../bus.ts'
import { clockSkewMs, recreateBackoff } from '../policy.ts'

/** A subscription with `since` also gets what was published from then on. */
export type NatsBus = Bus & {
  subscribe<E extends EventDefinition>(
    events: E | readonly E[],
    handler: EventHandler<E>,
    since?: Date,
  ): Promise<Subscription>
  readonly plain: PlainSubjects
}

type LateBusOptions = {
  prefix: string
  opening: Promise<NatsBus>
  stop: AbortController
  log: BusLog
}

/** Until NATS comes, calls are unavailable and broadcasts lost. Subscriptions then also get the earlier events. */
export function createLateBus({ prefix, opening, stop, log }: LateBusOptions): Bus {
  let bus: NatsBus | undefined
  const opened = opening.then(
    (connected) => {
      log.warn({}, 'NATS connected')
      return (bus = connected)
    },
    () => undefined,
  )
  const present = (): NatsBus => {
    if (!bus) throw new BusUnavailable('disconnected')
    return bus
  }

  async function subscribeLater(subscribe: (bus: NatsBus) => Promise<Subscription>): Promise<Subscription> {
    if (bus) return await subscribe(bus)
    let disposed = false
    const isDisposed = () => disposed
    const subscribed = opened.then(async (connected) => {
      for (let failures = 0; connected && !isDisposed(); failures += 1) {
        try {
          return await subscribe(connected)
        } catch (err) {
          if (!isDisposed()) log.warn({ err }, 'NATS subscription not made yet')
          await pause(backoffMs(failures, recreateBackoff))
        }
      }
      return undefined
    })
    return {
      async [Symbol.asyncDispose]() {
        disposed = true
        if (bus) await (await subscribed)?.[Symbol.asyncDispose]()
      },
    }
  }

  return {
    publish: async (event, payload, options) => await present().publish(event, payload, options),
    consume: (events, group, handler) => subscribeLater((connected) => connected.consume(events, group, handler)),
    subscribe: (events, handler) => {
      // NATS has its own clock. Handlers are idempotent.
      const since = new Date(systemClock.now() - clockSkewMs)
      return subscribeLater((connected) => connected.subscribe(events, handler, since))
    },
    broadcast: (event, payload, options) => bus?.broadcast(event, payload, options),
    onBroadcast: (event, handler, options) =>
      subscribeLater((connected) => connected.onBroadcast(event, handler, options)),
    request: async (call, payload, options) => await present().request(call, payload, options),
    respond: (call, handler) => subscribeLater((connected) => connected.respond(call, handler)),
    flush: async () => await present().flush(),
    onReconnect: (listener) => {
      const following = new DisposableStack()
      void opened.then((connected) => {
        if (!connected || following.disposed) return
        following.use(connected.onReconnect(listener))
        listener()
      })
      return following
    },
    ready: () => bus?.ready() ?? false,
    plain: {
      prefix,
      request: async (subject, message, options) => await present().plain.request(subject, message, options),
      subscribe: (subject, receive) => subscribeLater((connected) => connected.plain.subscribe(subject, receive)),
      keepConsumers: (consumers) => subscribeLater((connected) => connected.plain.keepConsumers(consumers)),
      deleteConsumers: async (names) => await present().plain.deleteConsumers(names),
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      await (await opened)?.[Symbol.asyncDispose]()
    },
  }
}
