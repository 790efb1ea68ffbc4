export { traceBus } from './trace-bus.ts'
export type {
  Bus,
  BusLog,
  Context,
  EventHandler,
  PlainSubjects,
  PulledConsumers,
  Received,
  Subscription,
} from './bus.ts'
export { BusUnavailable } from './bus-unavailable.ts'
export type { UnavailableReason } from './bus-unavailable.ts'
export { connectNats } from './nats/load-nats.ts'
export { createLocalBus } from './local/local-bus.ts'
export { enqueue } from './outbox/enqueue.ts'
export { startOutboxRelay } from './outbox/relay.ts'
export type { OutboxRelay, OutboxRelayDeps, OutboxRelayOptions } from './outbox/relay.ts'
