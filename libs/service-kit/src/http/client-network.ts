import type { IncomingMessage } from 'node:http'
import { isIPv4 } from 'node:net'
import { limits } from '@gatehouse/contracts'
import ipaddr from 'ipaddr.js'

/** An IPv4 address or an IPv6 /64. Other text stays as it is. Spec: Limits; Contract: 3, client networks. */
export function clientNetwork(address: string): string {
  return isIPv4(address) ? address : (networkOf(address, 32, 64) ?? address)
}

/** Undefined for no address. Contract: 3, client networks. */
export function siteNetwork(address: string): string | undefined {
  return networkOf(address, 24, 48)
}

/** An IPv4 /24 or an IPv6 /64. Contract: 7, relay. */
export function peerNetwork(address: string): string {
  return networkOf(address, 24, 64) ?? address
}

/** `network`: a /24 or /48, or `unknown`. `userAgent`: at most 256 characters. Contract: 3, sockets, sign-ins. */
export type ClientDescription = { network: string; userAgent: string }

export const unknownClient: ClientDescription = { network: 'unknown', userAgent: '' }

export function describeClient(request: IncomingMessage, address: string): ClientDescription {
  const userAgent = cutUserAgent(request.headers['user-agent'] ?? '')
  return { network: siteNetwork(address) ?? unknownClient.network, userAgent }
}

/** A slice would keep the whole header in memory. Headers are Latin-1. */
function cutUserAgent(header: string): string {
  if (header.length <= limits.userAgentMax) return header
  return Buffer.from(header.slice(0, limits.userAgentMax), 'latin1').toString('latin1')
}

function networkOf(address: string, ipv4Bits: 24 | 32, ipv6Bits: 48 | 64): string | undefined {
  if (!ipaddr.isValid(address)) return undefined
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) {
    return ipv4Bits === 32 ? parsed.toString() : `${parsed.octets.slice(0, 3).join('.')}.0/24`
  }
  const groups = parsed.parts.slice(0, ipv6Bits / 16).map((group) => group.toString(16))
  return `${groups.join(':')}::/${ipv6Bits}`
}
