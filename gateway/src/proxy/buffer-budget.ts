import type { Capacity } from '../policy.ts'
import { createQuota } from '../limits/quota.ts'

/** Bounds the memory that responses take because their clients read slowly. */
export type BufferBudget = {
  /** False when the client network holds more than its part. */
  take(network: string, bytes: number): boolean
  release(network: string, bytes: number): void
  isFull(): boolean
}

export function createBufferBudget(capacity: Capacity): BufferBudget {
  const networks = createQuota(capacity.bufferedBytesPerNetwork)
  let total = 0
  return {
    take: (network, bytes) => {
      if (!networks.take(network, bytes)) return false
      total += bytes
      return true
    },
    release: (network, bytes) => {
      networks.release(network, bytes)
      total -= bytes
    },
    isFull: () => total >= capacity.bufferedBytes,
  }
}
