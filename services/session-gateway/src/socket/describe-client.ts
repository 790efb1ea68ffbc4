import type { IncomingMessage } from 'node:http'
import { isIPv4 } from 'node:net'
import { limits } from '@gatehouse/contracts'
import ipaddr from 'ipaddr.js'

/** What a socket's account may see of its client. Contract: 3, sockets. */
export type ClientDescription = { network: string; userAgent: string }

export const unknownClient: ClientDescription = { network: 'unknown', userAgent: '' }

/** The network of the client's address, and what the client calls itself: nothing of either is kept beyond that. */
export function describeClient(request: IncomingMessage, address: string): ClientDescription {
  return { network: cutAddress(address), userAgent: cutUserAgent(request.headers['user-agent'] ?? '') }
}

/** The /24 of an IPv4 address, the /48 of an IPv6 one. */
export function cutAddress(address: string): string {
  if (isIPv4(address)) return [...address.split('.', 3), '0/24'].join('.')
  if (!ipaddr.isValid(address)) return 'unknown'
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) return `${parsed.octets.slice(0, 3).join('.')}.0/24`
  const head = parsed.parts.slice(0, 3).map((part) => part.toString(16))
  return `${head.join(':')}::/48`
}

/** A slice would keep the whole header in memory, so the text is written anew. Headers are Latin-1: a byte a character. */
function cutUserAgent(header: string): string {
  if (header.length <= limits.userAgentMax) return header
  return Buffer.from(header.slice(0, limits.userAgentMax), 'latin1').toString('latin1')
}
