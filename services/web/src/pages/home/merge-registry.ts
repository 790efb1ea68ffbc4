import type { Registry, RemoteInstance } from '@gatehouse/client'

export type RegistryEntry = Registry['registry'][number]

/**
 * The registry of connected instances with what this client knows: the instances that it is connected to. Null when the
 * registry says that already. Contract: 7, the federation registry.
 */
export function mergeRegistry(
  entries: readonly RegistryEntry[],
  remotes: readonly RemoteInstance[],
  now: number,
): RegistryEntry[] | null {
  const news = remotes.filter(({ origin, state, user }) => {
    const known = entries.find((entry) => entry.origin === origin)
    return state === 'connected' && (known?.status !== 'connected' || known.remoteUserId !== (user?.id ?? ''))
  })
  if (news.length === 0) return null
  const added = news.map(({ origin, username, user }): RegistryEntry => {
    const known = entries.find((entry) => entry.origin === origin)
    return {
      origin,
      label: known?.label ?? '',
      username,
      remoteUserId: user?.id ?? '',
      status: 'connected',
      addedAt: known?.addedAt ?? now,
      lastConnectedAt: now,
      disconnectedAt: null,
      errorMessage: null,
    }
  })
  return [...entries.filter(({ origin }) => !news.some((remote) => remote.origin === origin)), ...added]
}

/** The entries that other clients of the user have made and this one does not list. */
export function findElsewhere(
  entries: readonly RegistryEntry[],
  remotes: readonly RemoteInstance[],
  ownOrigin: string,
): RegistryEntry[] {
  return entries.filter(({ origin }) => origin !== ownOrigin && !remotes.some((remote) => remote.origin === origin))
}
