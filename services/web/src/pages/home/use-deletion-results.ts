import type { IdentityDeletions } from '@gatehouse/client'
import { useState } from 'react'

/** The results of a deletion on other instances; a later try adds to the earlier one's. Null when there are none. */
export function useDeletionResults(): [IdentityDeletions | null, (results: IdentityDeletions) => void] {
  const [results, set] = useState<IdentityDeletions | null>(null)
  const note = (next: IdentityDeletions) => {
    if (Object.keys(next).length > 0) set((before) => ({ ...before, ...next }))
  }
  return [results, note]
}
