import type { ServerResponse } from 'node:http'
import { createQuota } from '@gatehouse/runtime'
import { tooManyUploads } from '../errors.ts'
import type { Capacity } from '../policy.ts'

export type UploadLimits = {
  /** The upload ends with its response. Throws too_many_uploads. */
  start(context: { network: string; response: ServerResponse }, userId: string): void
}

export function createUploadLimits(capacity: Capacity): UploadLimits {
  const networks = createQuota(capacity.uploadsPerNetwork, capacity.uploads)
  const accounts = createQuota(capacity.uploadsPerAccount)
  return {
    start: ({ network, response }, userId) => {
      if (response.destroyed) return
      if (!networks.take(network)) throw tooManyUploads()
      response.once('close', () => networks.release(network))
      if (!accounts.take(userId)) throw tooManyUploads()
      response.once('close', () => accounts.release(userId))
    },
  }
}
