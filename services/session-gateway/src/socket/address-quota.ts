import { limits } from '@gatehouse/contracts'

/** How many unauthenticated sockets each client address has. Contract: 6. */
export type AddressQuota = {
  /** Counts one more; false when the address is at the limit. `key` is its client network. */
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
