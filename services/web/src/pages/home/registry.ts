import type { Registry, RemoteInstance, User } from '@gatehouse/client'
import { useEffect } from 'react'
import { useAppContext, useQuery } from '../../hooks.ts'

export type RegistryEntry = Registry['registry'][number]
type Entries = readonly RegistryEntry[]
type Remotes = readonly RemoteInstance[]

/** Adds the connections of this client. Null: nothing is new. Contract: 7, the federation registry. */
export function mergeRegistry(entries: Entries, remotes: Remotes, now: number): RegistryEntry[] | null {
  const find = (origin: string) => entries.find((entry) => entry.origin === origin)
  const news = remotes.filter(({ origin, state, user }) => {
    const entry = find(origin)
    return state === 'connected' && (entry?.status !== 'connected' || entry.remoteUserId !== (user?.id ?? ''))
  })
  if (news.length === 0) return null
  const added = news.map(({ origin, username, user }) => ({
    label: '',
    addedAt: now,
    ...find(origin),
    origin,
    username,
    remoteUserId: user?.id ?? '',
    status: 'connected' as const,
    lastConnectedAt: now,
    disconnectedAt: null,
    errorMessage: null,
  }))
  return [...entries.filter(({ origin }) => !news.some((remote) => remote.origin === origin)), ...added]
}

/** The entries of other clients that this one does not list. */
export function findElsewhere(entries: Entries, remotes: Remotes, ownOrigin: string): RegistryEntry[] {
  return entries.filter(({ origin }) => origin !== ownOrigin && !remotes.some((remote) => remote.origin === origin))
}

/** The connections of all clients of the user, stored at the home instance. Contract: 7, the federation registry. */
export function useRegistry(user: User, remotes: Remotes) {
  const { client, now } = useAppContext()
  const isHome = user.homeInstance === null
  const query = useQuery(`registry ${isHome}`, async (signal) =>
    isHome ? client.call('getRegistry', { signal }) : null,
  )
  const stored = query.data

  const save = async (registry: RegistryEntry[]) => {
    if (!stored) return
    const updatedAt = Math.max(now(), stored.updatedAt + 1)
    query.setData({ registry, updatedAt })
    // Refused when another client has stored a newer list.
    await client.call('putRegistry', { body: { registry, updatedAt } }).catch(query.refetch)
  }
  useEffect(() => {
    const merged = stored && mergeRegistry(stored.registry, remotes, now())
    if (merged) void save(merged)
  }, [stored, remotes])

  return {
    isKnown: !query.loading,
    elsewhere: stored ? findElsewhere(stored.registry, remotes, client.origin) : [],
    forget: (origin: string) => save((stored?.registry ?? []).filter((entry) => entry.origin !== origin)),
  }
}
