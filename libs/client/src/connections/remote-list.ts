import type { KeyValueStorage } from '../platform.ts'
import { createStore } from '../store.ts'
import type { Store } from '../store.ts'
import type { RemoteInstance } from './remote-instance.ts'
import { deleteStoredRemotes, readStoredRemotes, storeRemotes } from './stored-remotes.ts'

export type RemoteList = Store<readonly RemoteInstance[]> & {
  setOwner(userId: string): void
  find(origin: string): RemoteInstance | null
  put(remote: RemoteInstance): void
  /** Ignores an unlisted remote. */
  change(origin: string, part: Partial<RemoteInstance>): void
  remove(origin: string): void
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
