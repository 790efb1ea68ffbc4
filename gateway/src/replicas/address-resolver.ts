import { lookup, Resolver } from 'node:dns/promises'
import { ConfigurationError } from '@gatehouse/service-kit'
import { policy } from '../policy.ts'

/** Rejects when there is no address. */
export type ResolveAddresses = (host: string) => Promise<string[]>

/**
 * `servers` (`address:port`) resolve full names only. Throws ConfigurationError. The system's resolver can hold a thread
 * for 5 s. Only discovery waits for it.
 */
export function createAddressResolver(servers: readonly string[]): ResolveAddresses {
  if (servers.length === 0) {
    return async (host) => (await lookup(host, { all: true })).map(({ address }) => address)
  }
  const resolver = new Resolver({ timeout: policy.dnsAttemptMs, tries: policy.dnsAttempts })
  try {
    resolver.setServers(servers)
  } catch (cause) {
    throw new ConfigurationError(['SERVICE_DNS: must be addresses of name servers such as 10.0.0.2:53'], { cause })
  }
  return async (host) => {
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    const failed = answers.find((answer) => answer.status === 'rejected')
    if (addresses.length === 0) throw failed?.reason ?? new Error(`${host} has no address`)
    return addresses
  }
}
