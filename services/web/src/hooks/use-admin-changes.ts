import type { AdminChange } from '@gatehouse/client'
import { useEffect, useRef } from 'react'
import { useClient } from '../context.ts'

const gatherMs = 250

/** Runs `refetch` soon after something of this kind, null for any, has changed: once for several. Contract: 6, watch. */
export function useAdminChanges(kind: AdminChange['what'] | null, refetch: () => void): void {
  const client = useClient()
  const latest = useRef(refetch)
  latest.current = refetch
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const end = client.live.watchAdmin((change) => {
      if (change && kind && change.what !== kind) return
      timer ??= setTimeout(() => {
        timer = undefined
        latest.current()
      }, gatherMs)
    })
    return () => {
      end()
      clearTimeout(timer)
    }
  }, [client, kind])
}
