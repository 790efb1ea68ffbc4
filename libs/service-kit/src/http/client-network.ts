import { isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'

/** An IPv4 address or an IPv6 /64. Other text stays as it is. Spec: Limits; Contract: 3, 6. */
export function clientNetwork(address: string): string {
  return isIPv4(address) ? address : (networkOf(address, 32, 64) ?? address)
}

/** Undefined for no address. Contract: 3. */
export function siteNetwork(address: string): string | undefined {
  return networkOf(address, 24, 48)
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
