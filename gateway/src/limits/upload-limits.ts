import { createQuota } from '@gatehouse/runtime'
import { tooManyUploads } from '../errors.ts'
import type { Capacity } from '../policy.ts'

export type UploadLimits = {
  /** Returns the function that ends the upload. Throws too_many_uploads. */
  start(userId: string, network: string): () => void
}

export function createUploadLimits(capacity: Capacity): UploadLimits {
  const networks = createQuota(capacity.uploadsPerNetwork, capacity.uploads)
  const accounts = createQuota(capacity.uploadsPerAccount)
  return {
    start: (userId, network) => {
      if (!networks.take(network)) throw tooManyUploads()
      if (!accounts.take(userId)) {
        networks.release(network)
        throw tooManyUploads()
      }
      return () => {
        networks.release(network)
        accounts.release(userId)
      }
    },
  }
}
