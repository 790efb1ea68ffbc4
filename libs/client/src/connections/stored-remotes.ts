import type { KeyValueStorage } from '../platform.ts'
import type { RemoteInstance } from './remote-instance.ts'

export const remotesKey = 'service_remotes'

export type StoredRemote = { origin: string; username: string; token: string | null; pendingPasswordSync: boolean }
type StoredRemotes = { userId: string; remotes: StoredRemote[] }

/** Empty if unreadable or another user's. */
export function readStoredRemotes(storage: KeyValueStorage, userId: string): StoredRemote[] {
  const stored = readStorage(storage)
  return stored?.userId === userId ? stored.remotes : []
}

/** A password in transit is stored as pending: a closed page loses it. */
export function storeRemotes(storage: KeyValueStorage, userId: string, remotes: readonly RemoteInstance[]): void {
  const stored: StoredRemotes = {
    userId,
    remotes: remotes.map(({ origin, username, token, pendingPasswordSync, passwordSync }) => ({
      origin,
      username,
      token,
      pendingPasswordSync: pendingPasswordSync || passwordSync !== 'idle',
    })),
  }
  storage.setItem(remotesKey, JSON.stringify(stored))
}

export function deleteStoredRemotes(storage: KeyValueStorage, userId: string): void {
  if (readStorage(storage)?.userId === userId) storage.removeItem(remotesKey)
}

function readStorage(storage: KeyValueStorage): StoredRemotes | null {
  try {
    const stored = JSON.parse(storage.getItem(remotesKey) ?? 'null') as Partial<StoredRemotes> | null
    if (typeof stored?.userId !== 'string' || !Array.isArray(stored.remotes)) return null
    return { userId: stored.userId, remotes: stored.remotes.filter(isStoredRemote) }
  } catch {
    return null
  }
}

function isStoredRemote(value: unknown): value is StoredRemote {
  const remote = value as Partial<StoredRemote> | null
  return (
    typeof remote?.origin === 'string' &&
    typeof remote.username === 'string' &&
    (remote.token === null || typeof remote.token === 'string') &&
    typeof remote.pendingPasswordSync === 'boolean'
  )
}
