import type { Clock } from '@gatehouse/runtime'
import { policy } from '../policy.ts'

/** For this process, for a day. */
export type ProvenAddresses = {
  note(peerId: string, address: string): void
  includes(peerId: string, address: string): boolean
}

/** Several for each peer: proxy pools, both IP versions. */
export function createProvenAddresses(clock: Clock): ProvenAddresses {
  const lastSeen = new Map<string, Map<string, number>>()
  return {
    note: (peerId, address) => {
      const addresses = lastSeen.get(peerId) ?? new Map<string, number>()
      addresses.delete(address)
      addresses.set(address, clock.now())
      const [oldest] = addresses.keys()
      if (addresses.size > policy.provenAddressesPerPeer && oldest !== undefined) addresses.delete(oldest)
      lastSeen.set(peerId, addresses)
    },
    includes: (peerId, address) => {
      const at = lastSeen.get(peerId)?.get(address)
      return at !== undefined && clock.now() - at < policy.provenAddressMs
    },
  }
}
