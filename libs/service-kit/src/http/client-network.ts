import { isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * The client network, by which limits count: an IPv4 address, or the /64 that one subscriber of IPv6 has. What is no
 * address is a network of its own. Spec: Limits; Contract: 3, 6.
 */
export function clientNetwork(address: string): string {
  if (isIPv4(address) || !ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) return parsed.toString()
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16))
  return `${network.join(':')}::/64`
}
