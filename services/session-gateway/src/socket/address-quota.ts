import { isIPv4 } from 'node:net'
import { limits } from '@gatehouse/contracts'
import ipaddr from 'ipaddr.js'

/** How many unauthenticated sockets each client address has. Contract: 6. */
export type AddressQuota = {
  /** Counts one more; false when the address is at the limit. `key` comes from `quotaKey`. */
  take(key: string): boolean
  release(key: string): void
  readonly size: number
}

export function createAddressQuota(limit: number = limits.unauthenticatedSocketsPerAddress): AddressQuota {
  const counts = new Map<string, number>()
  let size = 0
  return {
    take(key) {
      const count = counts.get(key) ?? 0
      if (count >= limit) return false
      counts.set(key, count + 1)
      size += 1
      return true
    },
    release(key) {
      const count = counts.get(key)
      if (count === undefined) return
      size -= 1
      if (count === 1) counts.delete(key)
      else counts.set(key, count - 1)
    },
    get size() {
      return size
    },
  }
}

/** One client is one IPv4 address, or one IPv6 /64: the smallest network that a subscriber is assigned. */
export function quotaKey(address: string): string {
  if (isIPv4(address)) return address
  if (!ipaddr.isValid(address)) return 'unknown'
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) return parsed.toString()
  return `${parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`
}
