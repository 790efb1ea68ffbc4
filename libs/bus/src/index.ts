import type { connectNats as connect } from './nats/connect-nats.ts'

export { BusUnavailable } from './bus.ts'
export type { Bus, PlainSubjects, Received, Subscription } from './bus.ts'
export { createLocalBus } from './local/local-bus.ts'
export { traceBus } from './trace-bus.ts'

/** Loads the library of NATS with the first call only. */
export const connectNats: typeof connect = async (options) =>
  await (await import('./nats/connect-nats.ts')).connectNats(options)
