import { promises as dns } from 'node:dns'
import { lookupAttemptMs, lookupAttempts } from './policy.ts'

/** Rejects when there is no address. */
export type Lookup = { addressesOf(host: string): Promise<string[]>; close(): void }

/** The lookup of the system shares its threads with file access. A few silent name servers would delay both. */
export function createDnsLookup(nameServers?: string[]): Lookup {
  const resolver = new dns.Resolver({ timeout: lookupAttemptMs, maxTimeout: lookupAttemptMs, tries: lookupAttempts })
  if (nameServers) resolver.setServers(nameServers)
  return {
    addressesOf: async (host) => {
      if (isLocalhost(host)) return ['127.0.0.1', '::1']
      // Many hosts have no IPv6, and some name servers do not answer for it.
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
