import { useEffect, useRef, useState } from 'react'
import { isEnded, useClient } from './hooks.ts'

const kept = new Map<string, unknown>()

/** State that the end of a session does not drop: the next login finds it under the same `key`. Null: usual state. */
export function useKeptState<T>(key: string | null, initial: T) {
  const client = useClient()
  const state = useState<T>(() => (key !== null && kept.has(key) ? (kept.get(key) as T) : initial))
  const latest = useRef(initial)
  latest.current = state[0]
  useEffect(() => {
    if (key === null) return
    kept.delete(key)
    return () => void (isEnded(client) && kept.set(key, latest.current))
  }, [])
  return state
}

/** `key`: as in `useKeptState`. */
export function useImageFile(key: string | null = null) {
  const [blob, set] = useKeptState<Blob | null>(key, null)
  const [src, setSrc] = useState<string | null>(null)
  useEffect(() => {
    const url = blob && URL.createObjectURL(blob)
    setSrc(url)
    return () => void (url && URL.revokeObjectURL(url))
  }, [blob])
  return { blob, src, onPick: set, onRemove: () => set(null) }
}
