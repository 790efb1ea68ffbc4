// Also @gatehouse/outbound/reach, because the client library is slow to load.
import type { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Network = [Address, number]

const loopback = ['127.0.0.0/8', '::1/128']
const globalIpv6: Network = [ipaddr.IPv6.parse('2000::'), 3]

export type AllowList = { covers(address: string): boolean }

const listOf = (text: string): string[] => text.split(',').flatMap((entry) => entry.trim() || [])

/** Throws with the faulty entry. Contract: 8, settings, FEDERATION_ALLOW_PRIVATE and TRUST_PROXY. */
export function parseCidrs(text: string): string[] {
  const entries = listOf(text.toLowerCase())
  return [...new Set(entries.flatMap((entry) => (entry === 'loopback' ? loopback : [normalizeNetwork(entry)])))]
}

/** Throws with the faulty entry. */
export function parseAllowList(entries: string[]): AllowList {
  const networks = entries.flatMap(parseCidrs).map((cidr): Network => ipaddr.parseCIDR(cidr))
  return {
    covers: (text) => {
      const address = parseAddress(text)
      return address !== undefined && networks.some((network) => isWithin(unmapped(address), network))
    },
  }
}

/** Only plain global unicast is public. An IPv6 form with an IPv4 address is not: it reaches another address. */
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

/** The library also reads `10` and `0x7f.1` as addresses, and `::127.0.0.1` as the mapped address. */
function parseAddress(text: string): Address | undefined {
  const family = isIP(text)
  if (family === 0 || text.includes('%')) return undefined
  return ipaddr.parse(family === 4 ? text : new URL(`http://[${text}]`).hostname.slice(1, -1))
}

const isMapped = (address: Address): boolean => address.range() === 'ipv4Mapped'

function unmapped(address: Address): Address {
  return address instanceof ipaddr.IPv6 && isMapped(address) ? address.toIPv4Address() : address
}

function isWithin(address: Address, [network, bits]: Network): boolean {
  return address.kind() === network.kind() && address.match(network, bits)
}

function unreadable(entry: string, fault = 'an address, a CIDR or "loopback"'): Error {
  return new Error(`"${entry}" is not ${fault}`)
}

/** Without a port, the URL's port stays. */
export type ResolveTable = Record<string, { address: string; port?: number }>
/** Where requests may go. `allowPrivate`: CIDRs, addresses or `loopback`. */
export type OutboundConfig = { allowPrivate: string[]; resolve: ResolveTable }

const entryPattern = /^([^=\s]+)=(?:\[([^\]]*)\]|([^:[\]]*))(?::(\d{1,5}))?$/

/** `host=address:port,…`; the port may be missing. Throws with the faulty entry. Contract: 8, settings, FEDERATION_RESOLVE. */
export function parseResolve(text: string): ResolveTable {
  const table: ResolveTable = {}
  for (const entry of listOf(text)) {
    const { host, ...place } = parseEntry(entry)
    if (Object.hasOwn(table, host)) throw new Error(`"${host}" is in the table twice`)
    table[host] = place
  }
  return table
}

/** As in URLs: lower case, ASCII, no final dot. Undefined for anything else. */
export function normalizeHostName(host: string): string | undefined {
  if (/[\s:/?#@\\]/.test(host) || !URL.canParse(`http://${host}`)) return undefined
  const { hostname } = new URL(`http://${host}`)
  return isIP(hostname) === 0 ? hostname.replace(/\.$/, '') : undefined
}

function parseEntry(entry: string): { host: string; address: string; port?: number } {
  const [, name = '', bracketed, plain, port] = entryPattern.exec(entry) ?? []
  const host = normalizeHostName(name)
  const fault = (reason: string) => unreadable(entry, `host=address:port: ${reason}`)
  if (host === undefined) throw fault('a host name, "=" and an address are needed')
  const address = bracketed ?? plain ?? ''
  if (isIP(address) !== (bracketed === undefined ? 4 : 6)) throw fault('the address cannot be read')
  if (port === undefined) return { host, address }
  if (Number(port) < 1 || Number(port) > 65_535) throw fault('the port must be from 1 to 65535')
  return { host, address, port: Number(port) }
}

/** Many hosts have no IPv6, and some name servers do not answer for it. Rejects when there is no address. */
export async function resolveAddresses(resolver: Resolver, host: string): Promise<string[]> {
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  if (addresses.length > 0) return addresses
  throw answers.find((answer) => answer.status === 'rejected')?.reason ?? new Error(`${host} has no address`)
}
