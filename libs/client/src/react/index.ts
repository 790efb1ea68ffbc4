import { createContext, createElement, useContext, useSyncExternalStore, type ReactNode } from 'react'
import type { Client } from '../client.ts'
import { noConnection, type LiveState } from '../live/live-connection.ts'
import { noSession, type SessionState } from '../session/session.ts'
import type { Store } from '../store.ts'

const ClientContext = createContext<Client | null>(null)

/** The components below it use this client. */
export function ClientProvider({ client, children }: { client: Client; children?: ReactNode }) {
  return createElement(ClientContext, { value: client }, children)
}

/** Throws without a ClientProvider. */
export function useClient(): Client {
  const client = useContext(ClientContext)
  if (!client) throw new Error('useClient must be used inside a ClientProvider')
  return client
}

/** `onServer`: what it shows before there is a browser. */
export function useStore<T>({ subscribe, getSnapshot }: Store<T>, onServer: T = getSnapshot()): T {
  return useSyncExternalStore(subscribe, getSnapshot, () => onServer)
}

/** Server rendering, and the first rendering in a browser, are those of nobody. */
export const useSession = (): SessionState => useStore(useClient().session, noSession)

export const useLive = (): LiveState => useStore(useClient().live, noConnection)

/** Renders again only when this user comes or goes. */
export function usePresence(userId: string): 'online' | 'offline' {
  const { subscribe, getSnapshot } = useClient().live
  const offline = () => 'offline' as const
  return useSyncExternalStore(subscribe, () => getSnapshot().presences[userId] ?? 'offline', offline)
}
