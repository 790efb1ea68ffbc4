import type { Bus } from '../bus.ts'
import type * as nats from './connect-nats.ts'

/** Loads the library of NATS with the first call only. */
export async function connectNats(options: Parameters<typeof nats.connectNats>[0]): Promise<Bus> {
  const loaded = await import('./connect-nats.ts')
  return await loaded.connectNats(options)
}
