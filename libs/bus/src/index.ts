import type { connectNats as connect } from './nats/connect-nats.ts'

export { BusUnavailable } from './bus.ts'
export type {
  Bus,
  BusLog,
  Context,
  EventHandler,
  PlainSubjects,
  PulledConsumers,
  Received,
  Subscription,
  UnavailableReason,
} from './bus.ts'
export { createLocalBus } from './local/local-bus.ts'
export { enqueue } from './outbox/enqueue.ts'
export { startOutboxRelay } from './outbox/relay.ts'
export type { OutboxRelay, OutboxRelayDeps, OutboxRelayOptions } from './outbox/relay.ts'
export { traceBus } from './trace-bus.ts'

/** Loads the library of NATS with the first call only. */
export const connectNats: typeof connect = async (options) =>
  await (await import('./nats/connect-nats.ts')).connectNats(options)
