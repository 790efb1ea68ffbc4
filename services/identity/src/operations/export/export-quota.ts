import { refuse } from '@gatehouse/runtime'
import { policy } from '../../policy.ts'

/** Limits the exports under way in this process: one of each account, and a number in all. */
export type ExportQuota = {
  /** Gives the function that ends the export, once. Throws export_under_way, exports_busy. */
  start(userId: string): () => void
}

export function createExportQuota(atOnce: number = policy.exportsAtOnce): ExportQuota {
  const underWay = new Set<string>()
  return {
    start: (userId) => {
      if (underWay.has(userId)) throw refuse.export_under_way()
      if (underWay.size >= atOnce) {
        throw refuse.exports_busy({ headers: { 'Retry-After': String(policy.exportRetryAfterSeconds) } })
      }
      underWay.add(userId)
      return () => void underWay.delete(userId)
    },
  }
}
