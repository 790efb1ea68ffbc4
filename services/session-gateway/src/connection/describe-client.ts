import type { IncomingMessage } from 'node:http'
import { limits } from '@gatehouse/contracts'
import { siteNetwork } from '@gatehouse/service-kit'

/** Contract: 3, sockets. */
export type ClientDescription = { network: string; userAgent: string }

export const unknownClient: ClientDescription = { network: 'unknown', userAgent: '' }

export function describeClient(request: IncomingMessage, address: string): ClientDescription {
  return {
    network: siteNetwork(address) ?? unknownClient.network,
    userAgent: cutUserAgent(request.headers['user-agent'] ?? ''),
  }
}

/** A slice would keep the whole header in memory. Headers are Latin-1. */
function cutUserAgent(header: string): string {
  if (header.length <= limits.userAgentMax) return header
  return Buffer.from(header.slice(0, limits.userAgentMax), 'latin1').toString('latin1')
}
