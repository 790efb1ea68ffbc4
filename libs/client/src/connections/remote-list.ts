import type { KeyValueStorage } from '../platform.ts'
import { createStore } from '../store.ts'
import type { Store } from '../store.ts'
import type { RemoteInstance } from './remote-instance.ts'
import { deleteStoredRemotes, readStoredRemotes, storeRemotes } from './stored-remotes.ts'

/** The remote instances of one user, written to the storage with every change. */
export type RemoteList = Store<readonly RemoteInstance[]> & {
  /** Sets the user whose list it is from now on. */
  setOwner(userId: string): void
  find(origin: string): RemoteInstance | null
  /** Adds a remote, or replaces the one of the same origin. */
  put(remote: RemoteInstance): void
  /** Changes a remote; does nothing when it is no longer listed. */
  change(origin: string, part: Partial<RemoteInstance>): void
  remove(origin: string): void
  /** Reads the tokens that another tab has stored; gives the origins whose token changed. */
  readStoredTokens(): string[]
  clear(): void
}

export function createRemoteList(storage: KeyValueStorage): RemoteList {
  const store = createStore<readonly RemoteInstance[]>([])
  let userId: string | null = null

  const find = (origin: string) => store.getSnapshot().find((remote) => remote.origin === origin) ?? null
  const set = (remotes: readonly RemoteInstance[]) => {
    if (userId !== null) storeRemotes(storage, userId, remotes)
    store.set(remotes)
  }
  const without = (origin: string) => store.getSnapshot().filter((remote) => remote.origin !== origin)

  return {
    subscribe: store.subscribe,
    getSnapshot: store.getSnapshot,
    setOwner: (owner) => void (userId = owner),
    find,
    put: (remote) => set([...without(remote.origin), remote].sort((a, b) => (a.origin < b.origin ? -1 : 1))),
    change: (origin, part) => {
      if (!find(origin)) return
      set(store.getSnapshot().map((remote) => (remote.origin === origin ? { ...remote, ...part } : remote)))
    },
    remove: (origin) => set(without(origin)),
    readStoredTokens: () => {
      const stored = userId === null ? [] : readStoredRemotes(storage, userId)
      const newer = stored.filter(({ origin, token }) => {
        const listed = find(origin)
        return listed && token !== null && token !== listed.token && listed.state !== 'disconnected'
      })
      if (newer.length === 0) return []
      const tokens = new Map(newer.map((remote) => [remote.origin, remote]))
      store.set(
        store.getSnapshot().map((remote) => {
          const { token, pendingPasswordSync } = tokens.get(remote.origin) ?? remote
          return { ...remote, token, pendingPasswordSync }
        }),
      )
      return [...tokens.keys()]
    },
    clear: () => {
      if (userId !== null) deleteStoredRemotes(storage, userId)
      userId = null
      store.set([])
    },
  }
}
