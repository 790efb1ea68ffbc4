import { promises as dns } from 'node:dns'
import { lookupAttemptMs, lookupAttempts } from './policy.ts'

/** All addresses of a host name, IPv4 and IPv6. Rejects when there are none. */
export type Lookup = { addressesOf(host: string): Promise<string[]>; close(): void }

/**
 * Asks the name servers directly, by default those of the machine. The lookup of the system runs in the thread pool of the
 * process, where a few names whose servers never answer would delay every other lookup (and every file access).
 */
export function createDnsLookup(nameServers?: string[]): Lookup {
  const resolver = new dns.Resolver({ timeout: lookupAttemptMs, maxTimeout: lookupAttemptMs, tries: lookupAttempts })
  if (nameServers) resolver.setServers(nameServers)
  return {
    addressesOf: async (host) => {
      if (isLocalhost(host)) return ['127.0.0.1', '::1']
      // One family alone is enough: many hosts have no IPv6, and some name servers do not answer for it.
      const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
      const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
      if (addresses.length > 0) return addresses
      throw answers.find((answer) => answer.status === 'rejected')?.reason ?? new Error('No address')
    },
    close: () => resolver.cancel(),
  }
}

/** Name servers need not know these names (RFC 6761). */
function isLocalhost(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost')
}
