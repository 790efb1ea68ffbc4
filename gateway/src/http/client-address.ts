import ipaddr from 'ipaddr.js'
import { parseCidrs } from '@gatehouse/outbound/reach'
import { ConfigurationError } from '@gatehouse/service-kit'

type IpAddress = ipaddr.IPv4 | ipaddr.IPv6
export type ClientAddress = (remote: string | undefined, forwardedFor: string | string[] | undefined) => string

// proxy-addr misreads ports, brackets and zones, and refuses a range of /0.

/** The client is the nearest untrusted address. Throws ConfigurationError. Contract: 8, settings, TRUST_PROXY. */
export function createClientAddress(trustProxy: string): ClientAddress {
  const isTrusted = parseTrusted(trustProxy)
  return (remote = '', forwardedFor) => {
    if (!isTrusted || forwardedFor === undefined) {
      return remote.includes(':') ? (parseAddress(remote)?.toString() ?? remote) : remote
    }
    let client = parseAddress(remote)
    for (const hop of String(forwardedFor).split(',').reverse()) {
      if (!client || !isTrusted(client)) break
      const previous = parseAddress(hop)
      if (!previous) break
      client = previous
    }
    return client ? client.toString() : remote
  }
}

export function createProxyCheck(trustProxy: string): (remote: string | undefined) => boolean {
  const isTrusted = parseTrusted(trustProxy)
  return (remote = '') => {
    const address = isTrusted && parseAddress(remote)
    return address !== undefined && isTrusted?.(address) === true
  }
}

/** Accepts a port, brackets and a zone. IPv4-mapped addresses become IPv4. */
function parseAddress(text: string): IpAddress | undefined {
  const bare = text
    .trim()
    .replace(/^\[([^\]]*)\](:\d+)?$/, '$1')
    .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
    .replace(/%.*$/, '')
  const isAddress = ipaddr.IPv4.isValidFourPartDecimal(bare) || ipaddr.IPv6.isValid(bare)
  return isAddress ? ipaddr.process(bare) : undefined
}

/** Undefined when no proxy is trusted. */
function parseTrusted(trustProxy: string): ((address: IpAddress) => boolean) | undefined {
  try {
    const ranges = parseCidrs(trustProxy).map((cidr) => ipaddr.parseCIDR(cidr))
    if (ranges.length === 0) return undefined
    return (address) => ranges.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits))
  } catch (cause) {
    throw new ConfigurationError([`TRUST_PROXY: ${(cause as Error).message}; separate several by commas`], { cause })
  }
}
