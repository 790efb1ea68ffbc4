import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import { isEnded, openEntries, useClient } from './hooks.ts'

const storageKey = 'gatehouse_kept'
const states = new Map<string, unknown>(readKept())

/** For the way to an identity provider and back. Pictures are lost. */
export function keepOverLoad(): void {
  const texts = [...states].filter(([, value]) => typeof value !== 'object' || value === null || !('blob' in value))
  sessionStorage.setItem(storageKey, JSON.stringify(texts))
}

function readKept(): [string, unknown][] {
  try {
    const stored = sessionStorage.getItem(storageKey)
    sessionStorage.removeItem(storageKey)
    return JSON.parse(stored ?? '[]') as [string, unknown][]
  } catch {
    return []
  }
}

/** State that the end of a session does not drop: the next login finds it under the same `key`. Null: usual state. */
export function useKeptState<T>(key: string | null, initial: T) {
  const client = useClient()
  const state = useState<T>(() => (key !== null && states.has(key) ? (states.get(key) as T) : initial))
  const latest = useRef(initial)
  latest.current = state[0]
  useEffect(() => {
    if (key === null) return
    states.delete(key)
    return () => void (isEnded(client) && states.set(key, latest.current))
  }, [])
  return state
}

/** What was typed outside a dialog and not saved, else null. The end of a session keeps it, and the login page says so. */
export function useDraft(key: string) {
  const client = useClient()
  const state = useKeptState<string | null>(key, null)
  const latest = useRef<string | null>(null)
  latest.current = state[0]
  // Other effects end after the login page has been rendered.
  useLayoutEffect(() => {
    return () => void (latest.current !== null && isEnded(client) && (openEntries.outcome = 'kept'))
  }, [])
  return state
}

/** `crop`: the square that the server cuts out, where the browser could not. */
export type Picture = { blob: Blob; crop: string | null }

/** `key`: as in `useKeptState`. */
export function useImageFile(key: string | null = null) {
  const [picture, set] = useKeptState<Picture | null>(key, null)
  const [src, setSrc] = useState<string | null>(null)
  useEffect(() => {
    const url = picture && URL.createObjectURL(picture.blob)
    setSrc(url)
    return () => void (url && URL.revokeObjectURL(url))
  }, [picture])
  return { picture, src, onPick: set, onRemove: () => set(null) }
}
