import { promises as dns } from 'node:dns'

/** All addresses of a host name, IPv4 and IPv6. Rejects when there are none. */
export type Lookup = { addressesOf(host: string): Promise<string[]>; close(): void }

const ATTEMPT_MS = 1500
const ATTEMPTS = 2

/**
 * Asks the name servers directly, the machine's own unless told. The system's own lookup runs on the few threads of the process's pool, where a
 * handful of names whose servers never answer would hold up every other lookup (and every file access).
 */
export function createDnsLookup(nameServers?: string[]): Lookup {
  const resolver = new dns.Resolver({ timeout: ATTEMPT_MS, maxTimeout: ATTEMPT_MS, tries: ATTEMPTS })
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
