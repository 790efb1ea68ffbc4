import { connectNats, createLocalBus, type Bus } from '@gatehouse/bus'
import { ConfigurationError, type Log } from '@gatehouse/service-kit'

/**
 * The bus of an embedded instance: within the process, or over NATS where upstreams are to take part in sockets and
 * events. Throws ConfigurationError when NATS refuses. docs/decisions/embedded-bus.md.
 */
export async function openBus({ natsUrl, log }: { natsUrl: string | undefined; log: Log }): Promise<Bus> {
  if (natsUrl === undefined) return createLocalBus({ log })
  try {
    return await connectNats({ url: natsUrl, name: 'gatehouse', log })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ConfigurationError([`NATS_URL: ${reason}; check the variable and that the server runs`], { cause })
  }
}
