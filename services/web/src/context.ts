import type { Client, IdentityDeletions, Store } from '@gatehouse/client'
import { createContext, use, useSyncExternalStore } from 'react'

/** What the components take from outside; `main.tsx` fills it in, tests may replace any of it. */
export type AppContext = {
  client: Client
  /** The time of day, in milliseconds since 1970. */
  now: () => number
  /** A number from 0 up to, not including, 1. */
  random: () => number
}

export const AppContext = createContext<AppContext | null>(null)

export function useAppContext(): AppContext {
  const context = use(AppContext)
  if (!context) throw new Error('AppContext has no value')
  return context
}

export function useClient(): Client {
  return useAppContext().client
}

/** Reads a store of the client and renders again when it changes. */
export function useStore<T>(store: Store<T>): T {
  return useSyncExternalStore(store.subscribe, store.getSnapshot)
}

/**
 * The results of an account deletion on other instances, for the login page that follows: the stores of the session
 * are cleared by then.
 */
export const DeletionReportContext = createContext<
  readonly [report: IdentityDeletions | null, set: (report: IdentityDeletions | null) => void]
>([null, () => {}])

export function useDeletionReport() {
  return use(DeletionReportContext)
}
