import { createQuota } from '@gatehouse/runtime'
import type { Capacity } from '../policy.ts'

export type BufferBudget = {
  /** False beyond the network's part. */
  take(network: string, bytes: number): boolean
  release(network: string, bytes: number): void
  isFull(): boolean
}

export function createBufferBudget(capacity: Capacity): BufferBudget {
  const networks = createQuota(capacity.bufferedBytesPerNetwork)
  return {
    take: networks.take,
    release: networks.release,
    isFull: () => networks.total() >= capacity.bufferedBytes,
  }
}
