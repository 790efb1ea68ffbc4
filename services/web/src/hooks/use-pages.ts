import { useCallback, useEffect, useRef, useState } from 'react'
import { isAborted } from '@gatehouse/client'

type Page<T> = { items: T[]; nextCursor: string | null }

export type Pages<T> = {
  /** What is in view; null until the first page came. */
  items: T[] | null
  error: Error | null
  loading: boolean
  /** Gets the next page; null at the end. */
  more: (() => void) | null
  reload: () => void
}

/** A list that comes in pages by cursor; starts anew when the key changes or on reload. */
export function usePages<T>(
  key: string,
  load: (cursor: string | null, signal: AbortSignal) => Promise<Page<T>>,
): Pages<T> {
  const [items, setItems] = useState<T[] | null>(null)
  const [next, setNext] = useState<string | null>(null)
  const [error, setError] = useState<Error | null>(null)
  const [loading, setLoading] = useState(true)
  const [round, setRound] = useState(0)
  const running = useRef<AbortController>(null)
  const latest = useRef(load)
  latest.current = load

  const fetchPage = useCallback((cursor: string | null) => {
    running.current?.abort()
    const ending = (running.current = new AbortController())
    setLoading(true)
    latest.current(cursor, ending.signal).then(
      (page) => {
        if (ending.signal.aborted) return
        setItems((before) => (cursor && before ? [...before, ...page.items] : page.items))
        setNext(page.nextCursor)
        setError(null)
        setLoading(false)
      },
      (failure: unknown) => {
        if (ending.signal.aborted || isAborted(failure)) return
        setError(failure as Error)
        setLoading(false)
      },
    )
  }, [])

  useEffect(() => {
    fetchPage(null)
    return () => running.current?.abort()
  }, [fetchPage, key, round])
  useEffect(() => setItems(null), [key])

  const reload = useCallback(() => setRound((last) => last + 1), [])
  return { items, error, loading, more: next ? () => fetchPage(next) : null, reload }
}
