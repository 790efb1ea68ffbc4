import ipaddr from 'ipaddr.js'
import { ConfigurationError } from '@gatehouse/service-kit'

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Range = [Address, number]

/** The address of a connection's other end, and what it says in X-Forwarded-For, to the address of the client. */
export type ClientAddress = (remote: string | undefined, forwardedFor: string | undefined) => string

/**
 * Finds who is calling: the nearest address that is no proxy of ours, seen from here. `trustProxy` names the proxies:
 * addresses, CIDRs or `loopback`, separated by commas. Throws ConfigurationError. Contract: 8, TRUST_PROXY.
 */
export function createClientAddress(trustProxy: string): ClientAddress {
  const trusted = parseTrusted(trustProxy)
  const isTrusted = (address: Address): boolean => trusted.some((range) => contains(range, address))

  return (remote = '', forwardedFor) => {
    if (trusted.length === 0 || forwardedFor === undefined) return canonical(remote)
    let client = parseAddress(remote)
    for (const named of forwardedFor.split(',').reverse()) {
      if (!client || !isTrusted(client)) break
      const before = parseAddress(named)
      if (!before) break
      client = before
    }
    return client ? client.toString() : remote
  }
}

/** What a limit counts by: an IPv4 address, or the /64 that one subscriber of IPv6 has. Spec: Limits. */
export function limitKey(address: string): string {
  if (!address.includes(':')) return address
  const parsed = parseAddress(address)
  if (!parsed || parsed.kind() === 'ipv4') return parsed?.toString() ?? address
  return `${(parsed as ipaddr.IPv6).parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`
}

function canonical(remote: string): string {
  return remote.includes(':') ? (parseAddress(remote)?.toString() ?? remote) : remote
}

/** An address as proxies write it: perhaps with a port, in brackets or with a zone. IPv4 in IPv6 is IPv4. */
function parseAddress(text: string): Address | undefined {
  const bare = text
    .trim()
    .replace(/^\[([^\]]*)\](:\d+)?$/, '$1')
    .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
    .replace(/%.*$/, '')
  const isAddress = ipaddr.IPv4.isValidFourPartDecimal(bare) || ipaddr.IPv6.isValid(bare)
  return isAddress ? ipaddr.process(bare) : undefined
}

function parseTrusted(trustProxy: string): Range[] {
  const names = trustProxy.split(',').map((name) => name.trim())
  return names.filter(Boolean).flatMap((name) => (name === 'loopback' ? loopback : [parseRange(name)]))
}

const loopback: Range[] = [ipaddr.parseCIDR('127.0.0.0/8'), ipaddr.parseCIDR('::1/128')]

function parseRange(name: string): Range {
  try {
    if (name.includes('/')) return ipaddr.parseCIDR(name)
    const address = ipaddr.process(name)
    return [address, address.kind() === 'ipv4' ? 32 : 128]
  } catch (cause) {
    const remedy = 'use addresses, CIDRs or loopback, separated by commas'
    throw new ConfigurationError([`TRUST_PROXY: ${JSON.stringify(name)} is no address; ${remedy}`], { cause })
  }
}

function contains([base, bits]: Range, address: Address): boolean {
  return base.kind() === address.kind() && address.match(base, bits)
}
