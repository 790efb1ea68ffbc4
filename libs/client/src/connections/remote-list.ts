import type { KeyValueStorage } from '../ports.ts'
import { createStore } from '../store.ts'
import type { Store } from '../store.ts'
import { forgetRemotes, keepRemotes, readKeptRemotes } from './kept-remotes.ts'
import type { RemoteInstance } from './remote-instance.ts'

/** The list of remote instances of one user, kept in the storage with every change. */
export type RemoteList = Store<readonly RemoteInstance[]> & {
  /** Whose list it is from now on. */
  assign(userId: string): void
  find(origin: string): RemoteInstance | null
  /** Adds a remote, or replaces the one of the same origin. */
  put(remote: RemoteInstance): void
  /** Changes a remote that is still there; others are left alone. */
  change(origin: string, part: Partial<RemoteInstance>): void
  drop(origin: string): void
  /** Takes over the tokens that another tab has kept; gives the origins they are for. */
  adoptKept(): string[]
  clear(): void
}

export function createRemoteList(storage: KeyValueStorage): RemoteList {
  const store = createStore<readonly RemoteInstance[]>([])
  let userId: string | null = null

  const find = (origin: string) => store.getSnapshot().find((remote) => remote.origin === origin) ?? null
  const set = (remotes: readonly RemoteInstance[]) => {
    if (userId !== null) keepRemotes(storage, userId, remotes)
    store.set(remotes)
  }
  const without = (origin: string) => store.getSnapshot().filter((remote) => remote.origin !== origin)

  return {
    subscribe: store.subscribe,
    getSnapshot: store.getSnapshot,
    assign: (owner) => void (userId = owner),
    find,
    put: (remote) => set([...without(remote.origin), remote].sort((a, b) => (a.origin < b.origin ? -1 : 1))),
    change: (origin, part) => {
      if (!find(origin)) return
      set(store.getSnapshot().map((remote) => (remote.origin === origin ? { ...remote, ...part } : remote)))
    },
    drop: (origin) => set(without(origin)),
    adoptKept: () => {
      const kept = userId === null ? [] : readKeptRemotes(storage, userId)
      const newer = kept.filter(({ origin, token }) => {
        const mine = find(origin)
        return mine && token !== null && token !== mine.token && mine.state !== 'disconnected'
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
      if (userId !== null) forgetRemotes(storage, userId)
      userId = null
      store.set([])
    },
  }
}
