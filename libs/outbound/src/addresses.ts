import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Network = [Address, number]

const loopback = ['127.0.0.0/8', '::1/128']
const globalIpv6: Network = [ipaddr.IPv6.parse('2000::'), 3]

/** The addresses that the operator allows although they are not public. */
export type AllowList = { covers(address: string): boolean }

/**
 * Parses a comma separated list of CIDRs, addresses and the word `loopback`; empty text gives an empty list.
 * Throws an Error that names the faulty entry. Contract: 8, FEDERATION_ALLOW_PRIVATE and TRUST_PROXY.
 */
export function parseCidrs(text: string): string[] {
  const entries = text
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .filter((entry) => entry !== '')
  return [...new Set(entries.flatMap((entry) => (entry === 'loopback' ? loopback : [normalizeNetwork(entry)])))]
}

/** Takes entries as `parseCidrs` gives or accepts them. Throws an Error that names a faulty one. */
export function parseAllowList(entries: string[]): AllowList {
  const networks = entries.flatMap(parseCidrs).map((cidr): Network => ipaddr.parseCIDR(cidr))
  return {
    covers: (text) => {
      const address = parseAddress(text)
      return address !== undefined && networks.some((network) => isWithin(unmapped(address), network))
    },
  }
}

/**
 * Whether an address is public. Everything but plain global unicast is not: private, loopback, link-local, shared,
 * documentation and multicast ranges, and every IPv6 form that carries an IPv4 address (mapped, NAT64, 6to4, Teredo),
 * because it reaches another address than it shows.
 */
export function isPublicAddress(text: string): boolean {
  const address = parseAddress(text)
  if (address === undefined || address.range() !== 'unicast') return false
  return address.kind() === 'ipv4' || isWithin(address, globalIpv6)
}

function normalizeNetwork(entry: string): string {
  const [text = '', bits, ...rest] = entry.split('/')
  const address = parseAddress(text)
  if (address === undefined || rest.length > 0 || isMapped(address)) throw unreadable(entry)
  const longest = address.kind() === 'ipv4' ? 32 : 128
  if (bits === undefined) return `${address.toString()}/${longest}`
  if (!/^\d{1,3}$/.test(bits) || Number(bits) > longest) throw unreadable(entry)
  return `${address.toString()}/${Number(bits)}`
}

/**
 * The four-part or colon spelling only: the library alone would also read `10` or `0x7f.1` as addresses. And it takes
 * `::127.0.0.1` for the mapped address, which it is not, so IPv6 goes to it in the spelling without dots.
 */
function parseAddress(text: string): Address | undefined {
  const family = isIP(text)
  if (family === 0 || text.includes('%')) return undefined
  return ipaddr.parse(family === 4 ? text : new URL(`http://[${text}]`).hostname.slice(1, -1))
}

function isMapped(address: Address): boolean {
  return address.range() === 'ipv4Mapped'
}

function unmapped(address: Address): Address {
  return address instanceof ipaddr.IPv6 && isMapped(address) ? address.toIPv4Address() : address
}

function isWithin(address: Address, [network, bits]: Network): boolean {
  return address.kind() === network.kind() && address.match(network, bits)
}

function unreadable(entry: string): Error {
  return new Error(`"${entry}" is not an address, a CIDR or "loopback"`)
}
