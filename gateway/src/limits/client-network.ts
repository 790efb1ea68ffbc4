import ipaddr from 'ipaddr.js'
import { parseAddress } from '../http/client-address.ts'

/** The key of a rate limit: an IPv4 address, or the /64 that one subscriber of IPv6 has. Spec: Limits; Contract: 3. */
export function clientNetwork(address: string): string {
  if (!address.includes(':')) return address
  const parsed = parseAddress(address)
  if (!parsed) return address
  if (parsed instanceof ipaddr.IPv4) return parsed.toString()
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16))
  return `${network.join(':')}::/64`
}
