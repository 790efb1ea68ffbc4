import { isSecurityNotice } from '@gatehouse/client'
import { useEffect } from 'react'
import { useClient } from './hooks.ts'

/** Reads again what changed, maybe on another device. `prefix`: of what the notices are about. */
export function useSecurityNotices(prefix: string, refetch: () => void): void {
  const { live } = useClient()
  useEffect(
    () =>
      live.onEvent((event) => {
        if (isSecurityNotice(event) && event.what.startsWith(prefix)) refetch()
      }),
    [live, prefix, refetch],
  )
}
