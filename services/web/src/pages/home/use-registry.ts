import type { RemoteInstance, User } from '@gatehouse/client'
import { useEffect } from 'react'
import { useAppContext } from '../../context.ts'
import { useQuery } from '../../hooks/use-query.ts'
import { findElsewhere, mergeRegistry, type RegistryEntry } from './merge-registry.ts'

/**
 * The connections that other clients of the user have stored at the home instance; what this client is connected to is
 * stored there too. A list that another client has stored meanwhile is not overwritten. Contract: 7, the federation registry.
 */
export function useRegistry(user: User, remotes: readonly RemoteInstance[]) {
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
    // Refused when another client has stored a newer list: that one is read then.
    await client.call('putRegistry', { body: { registry, updatedAt } }).catch(query.refetch)
  }
  useEffect(() => {
    const merged = stored && mergeRegistry(stored.registry, remotes, now())
    if (merged) void save(merged)
  }, [stored, remotes])

  return {
    elsewhere: stored ? findElsewhere(stored.registry, remotes, client.origin) : [],
    forget: (origin: string) => save((stored?.registry ?? []).filter((entry) => entry.origin !== origin)),
  }
}
