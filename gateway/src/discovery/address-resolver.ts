import { lookup, Resolver } from 'node:dns/promises'
import { ConfigurationError } from '@gatehouse/service-kit'
import { policy } from '../policy.ts'

/** The addresses of a host name, at least one. Rejects when there is none or no answer. */
export type ResolveAddresses = (host: string) => Promise<string[]>

/**
 * Resolves by the system: its hosts file, its search domains and its name servers, as compose and Kubernetes set them up.
 * With `servers` (`address:port`) these are asked instead, by full names. Throws ConfigurationError.
 *
 * NOTE: the system's resolver occupies a thread, for 5 s and more when a packet is lost. libuv gives name resolution half of
 * its threads at most, and nothing on a request's path resolves names, so only the discovery itself becomes late.
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
