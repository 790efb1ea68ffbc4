import { tooManyUploads } from '../errors.ts'
import type { Capacity } from '../policy.ts'
import { createQuota } from './quota.ts'

/** Limits the uploads under way, each of which holds a connection to the service for as long as its client sends. */
export type UploadLimits = {
  /** Gives the function that ends the upload. Throws too_many_uploads. */
  start(userId: string, network: string): () => void
}

export function createUploadLimits(capacity: Capacity): UploadLimits {
  const limits = [capacity.uploads, capacity.uploadsPerNetwork, capacity.uploadsPerAccount].map((max) =>
    createQuota(max),
  )
  return {
    start: (userId, network) => {
      const keys = ['all', network, userId]
      const taken = limits.findIndex((quota, index) => !quota.take(keys[index] ?? ''))
      const release = (count: number): void =>
        limits.slice(0, count).forEach((quota, index) => quota.release(keys[index] ?? ''))
      if (taken !== -1) {
        release(taken)
        throw tooManyUploads()
      }
      return () => release(limits.length)
    },
  }
}
