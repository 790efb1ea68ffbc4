import type { Store } from '@gatehouse/client'
import { useSyncExternalStore } from 'react'

/** Reads a store of the client and renders again when it changes. */
export function useStore<T>(store: Store<T>): T {
  return useSyncExternalStore(store.subscribe, store.getSnapshot)
}
