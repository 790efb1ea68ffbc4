export { enqueue } from './enqueue.ts'
export { startOutboxRelay } from './relay.ts'
export type { OutboxRelay, OutboxRelayDeps, OutboxRelayOptions } from './relay.ts'
