import type { KeyValueStorage } from '../ports.ts'
import type { RemoteInstance } from './remote-instance.ts'

/** Where the tokens of the other instances outlive a reload. */
export const remotesKey = 'service_remotes'

/** What is kept of a remote instance. */
export type KeptRemote = { origin: string; username: string; token: string | null; pendingPasswordSync: boolean }
type Kept = { userId: string; remotes: KeptRemote[] }

/** What is kept for this user; empty when it is someone else's or unreadable. */
export function readKeptRemotes(storage: KeyValueStorage, userId: string): KeptRemote[] {
  const kept = parseKept(storage.getItem(remotesKey))
  return kept?.userId === userId ? kept.remotes : []
}

/**
 * Keeps the remotes. A password that is still being sent lives in memory only, so it counts as pending here: a page
 * that is closed before it got through comes back knowing that.
 */
export function keepRemotes(storage: KeyValueStorage, userId: string, remotes: readonly RemoteInstance[]): void {
  const kept: Kept = {
    userId,
    remotes: remotes.map(({ origin, username, token, pendingPasswordSync, passwordSync }) => ({
      origin,
      username,
      token,
      pendingPasswordSync: pendingPasswordSync || passwordSync !== 'idle',
    })),
  }
  storage.setItem(remotesKey, JSON.stringify(kept))
}

/** Forgets them, unless they are by now another user's (who logged in in another tab). */
export function forgetRemotes(storage: KeyValueStorage, userId: string): void {
  if (parseKept(storage.getItem(remotesKey))?.userId === userId) storage.removeItem(remotesKey)
}

function parseKept(text: string | null): Kept | null {
  try {
    const kept = JSON.parse(text ?? 'null') as Partial<Kept> | null
    if (typeof kept?.userId !== 'string' || !Array.isArray(kept.remotes)) return null
    return { userId: kept.userId, remotes: kept.remotes.filter(isKeptRemote) }
  } catch {
    return null
  }
}

function isKeptRemote(value: unknown): value is KeptRemote {
  const remote = value as Partial<KeptRemote> | null
  return (
    typeof remote?.origin === 'string' &&
    typeof remote.username === 'string' &&
    (remote.token === null || typeof remote.token === 'string') &&
    typeof remote.pendingPasswordSync === 'boolean'
  )
}
