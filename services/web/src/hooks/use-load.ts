import { isAborted } from '@gatehouse/client'
import { useCallback, useEffect, useState } from 'react'

export type Load<T> = {
  data: T | null
  error: Error | null
  loading: boolean
  reload: () => void
  set: (data: T) => void
}

/** Loads what `key` names, again when the key changes; what was loaded stays in view until the new answer is here. */
export function useLoad<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Load<T> {
  const [data, set] = useState<T | null>(null)
  const [error, setError] = useState<Error | null>(null)
  const [loading, setLoading] = useState(true)
  const [round, setRound] = useState(0)

  useEffect(() => {
    const ending = new AbortController()
    setLoading(true)
    load(ending.signal).then(
      (answer) => {
        if (ending.signal.aborted) return
        set(answer)
        setError(null)
        setLoading(false)
      },
      (failure: unknown) => {
        if (ending.signal.aborted || isAborted(failure)) return
        setError(failure instanceof Error ? failure : new Error(String(failure)))
        setLoading(false)
      },
    )
    return () => ending.abort()
    // The key stands for everything that `load` closes over.
  }, [key, round])

  const reload = useCallback(() => setRound((last) => last + 1), [])
  return { data, error, loading, reload, set }
}
