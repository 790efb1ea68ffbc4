import { isAborted } from '@gatehouse/client'
import { useCallback, useEffect, useRef, useState } from 'react'

type Page<T> = { items: T[]; nextCursor: string | null }

export type InfiniteQuery<T> = {
  /** The items of all pages fetched so far; null before the first page. */
  items: T[] | null
  error: Error | null
  loading: boolean
  /** Null after the last page. */
  fetchNextPage: (() => void) | null
  refetch: () => void
}

/** Fetches a list page by page, by cursor; from the first page again when the key changes or on refetch. */
export function useInfiniteQuery<T>(
  key: string,
  fetchPage: (cursor: string | null, signal: AbortSignal) => Promise<Page<T>>,
): InfiniteQuery<T> {
  const [items, setItems] = useState<T[] | null>(null)
  const [nextCursor, setNextCursor] = useState<string | null>(null)
  const [error, setError] = useState<Error | null>(null)
  const [loading, setLoading] = useState(true)
  const [refetches, setRefetches] = useState(0)
  const current = useRef<AbortController>(null)
  const latestFetch = useRef(fetchPage)
  latestFetch.current = fetchPage

  const addPage = useCallback((cursor: string | null) => {
    current.current?.abort()
    const controller = (current.current = new AbortController())
    setLoading(true)
    latestFetch.current(cursor, controller.signal).then(
      (page) => {
        if (controller.signal.aborted) return
        setItems((before) => (cursor && before ? [...before, ...page.items] : page.items))
        setNextCursor(page.nextCursor)
        setError(null)
        setLoading(false)
      },
      (failure: unknown) => {
        if (controller.signal.aborted || isAborted(failure)) return
        setError(failure instanceof Error ? failure : new Error(String(failure)))
        setLoading(false)
      },
    )
  }, [])

  useEffect(() => {
    addPage(null)
    return () => current.current?.abort()
  }, [addPage, key, refetches])
  useEffect(() => setItems(null), [key])

  const refetch = useCallback(() => setRefetches((count) => count + 1), [])
  return { items, error, loading, fetchNextPage: nextCursor ? () => addPage(nextCursor) : null, refetch }
}
