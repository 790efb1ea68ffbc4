import { isAborted } from '@gatehouse/client'
import { useCallback, useEffect, useState } from 'react'

export type Query<T> = {
  data: T | null
  error: Error | null
  loading: boolean
  refetch: () => void
  setData: (data: T) => void
}

/** Fetches what `key` names, again when the key changes. The previous data stays until the new data arrives. */
export function useQuery<T>(key: string, fetchData: (signal: AbortSignal) => Promise<T>): Query<T> {
  const [data, setData] = useState<T | null>(null)
  const [error, setError] = useState<Error | null>(null)
  const [loading, setLoading] = useState(true)
  const [refetches, setRefetches] = useState(0)

  useEffect(() => {
    const controller = new AbortController()
    setLoading(true)
    fetchData(controller.signal).then(
      (answer) => {
        if (controller.signal.aborted) return
        setData(answer)
        setError(null)
        setLoading(false)
      },
      (failure: unknown) => {
        if (controller.signal.aborted || isAborted(failure)) return
        setError(failure instanceof Error ? failure : new Error(String(failure)))
        setLoading(false)
      },
    )
    return () => controller.abort()
    // The key stands for everything that `fetchData` closes over.
  }, [key, refetches])

  const refetch = useCallback(() => setRefetches((count) => count + 1), [])
  return { data, error, loading, refetch, setData }
}
