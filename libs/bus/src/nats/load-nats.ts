import type { Bus } from '../bus.ts'
import type * as nats from './connect-nats.ts'

/** `connectNats` of connect-nats.ts, loaded with the first call: a process without NATS starts without its library. */
export async function connectNats(options: Parameters<typeof nats.connectNats>[0]): Promise<Bus> {
  const loaded = await import('./connect-nats.ts')
  return await loaded.connectNats(options)
}
