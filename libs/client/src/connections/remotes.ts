import { parseOrigin } from '@gatehouse/contracts/constants'
import { ApiError, NetworkFailure } from '../api/errors.ts'
import type { User } from '../api/records.ts'
import type { KeyValueStorage } from '../platform.ts'
import { createStore } from '../store.ts'

/** needs_password: call connect(). unreachable: call retry(). refused: see `error`. disconnected: by the user. */
export type RemoteState = 'connecting' | 'connected' | 'needs_password' | 'unreachable' | 'refused' | 'disconnected'

/** sending: the first attempts. retrying: the background retries. */
export type PasswordSync = 'idle' | 'sending' | 'retrying'

const unconnected = {
  token: null as string | null,
  user: null as User | null,
  state: 'connecting' as RemoteState,
  error: null as string | null,
  online: false,
  /** The password of the account there is the one that the home issued for it. */
  ownPassword: false,
  passwordSync: 'idle' as PasswordSync,
  /** Send it again with passwordPropagation.resend(). */
  pendingPasswordSync: false,
}
export type RemoteInstance = { origin: string; username: string } & typeof unconnected

export function newRemote(origin: string, username: string, part?: Partial<RemoteInstance>): RemoteInstance {
  return { origin, username, ...unconnected, ...part }
}

export function stateAfter(error: unknown): Pick<RemoteInstance, 'state' | 'error'> {
  return { state: findState(error), error: (error as Error).message }
}

function findState(error: unknown): RemoteState {
  const status = error instanceof ApiError ? error.status : null
  if (error instanceof NetworkFailure || (status ?? 0) >= 500) return 'unreachable'
  return status === 401 ? 'needs_password' : 'refused'
}

/** Null: no origin. Passwords go there, so plain http needs `allowHttp` (when the own instance uses it too). */
export function originOfAddress(typed: string, options: { allowHttp?: boolean } = {}): string | null {
  const origin = parseOrigin(typed)
  return origin?.startsWith('https:') || options.allowHttp ? origin : null
}

export type RemoteList = ReturnType<typeof createRemoteList>

/** The instances of one user, kept in the storage. */
export function createRemoteList(storage: KeyValueStorage) {
  const { set: show, ...store } = createStore<readonly RemoteInstance[]>([])
  let userId: string | null = null

  const find = (origin: string) => store.getSnapshot().find((remote) => remote.origin === origin) ?? null
  const set = (remotes: readonly RemoteInstance[]) => {
    if (userId !== null) storeRemotes(storage, userId, remotes)
    show(remotes)
  }
  const without = (origin: string) => store.getSnapshot().filter((remote) => remote.origin !== origin)

  return {
    ...store,
    setOwner: (owner: string) => void (userId = owner),
    find,
    put: (remote: RemoteInstance) =>
      set([...without(remote.origin), remote].sort((a, b) => (a.origin < b.origin ? -1 : 1))),
    /** Ignores an unlisted remote. */
    change: (origin: string, part: Partial<RemoteInstance>) => {
      if (!find(origin)) return
      set(store.getSnapshot().map((remote) => (remote.origin === origin ? { ...remote, ...part } : remote)))
    },
    remove: (origin: string) => set(without(origin)),
    readStoredTokens: () => {
      const stored = userId === null ? [] : readStoredRemotes(storage, userId)
      const newer = stored.filter(({ origin, token }) => {
        const listed = find(origin)
        return listed && token !== null && token !== listed.token && listed.state !== 'disconnected'
      })
      if (newer.length === 0) return []
      const tokens = new Map(newer.map((remote) => [remote.origin, remote]))
      show(
        store.getSnapshot().map((remote) => {
          const { token, ownPassword = false, pendingPasswordSync } = tokens.get(remote.origin) ?? remote
          return { ...remote, token, ownPassword, pendingPasswordSync }
        }),
      )
      return [...tokens.keys()]
    },
    clear: () => {
      if (userId !== null && readStorage(storage)?.userId === userId) storage.removeItem(remotesKey)
      userId = null
      show([])
    },
  }
}

export const remotesKey = 'service_remotes'

export type StoredRemote = Pick<RemoteInstance, 'origin' | 'username' | 'token' | 'pendingPasswordSync'> & {
  /** Releases before 0.3.0 stored none. */
  ownPassword?: boolean
}
type StoredRemotes = { userId: string; remotes: StoredRemote[] }

/** Empty if unreadable or another user's. */
export function readStoredRemotes(storage: KeyValueStorage, userId: string): StoredRemote[] {
  const stored = readStorage(storage)
  return stored?.userId === userId ? stored.remotes : []
}

/** A password in transit is stored as pending: a closed page loses it. */
function storeRemotes(storage: KeyValueStorage, userId: string, remotes: readonly RemoteInstance[]): void {
  const stored: StoredRemotes = {
    userId,
    remotes: remotes.map(({ origin, username, token, ownPassword, pendingPasswordSync, passwordSync }) => ({
      origin,
      username,
      token,
      ownPassword,
      pendingPasswordSync: pendingPasswordSync || passwordSync !== 'idle',
    })),
  }
  storage.setItem(remotesKey, JSON.stringify(stored))
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
