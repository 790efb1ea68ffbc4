import type { User } from '../api/records.ts'
import type { StoredRemote } from '../connections/stored-remotes.ts'
import type { SelfIds } from '../identity/identity.ts'
import type { KeyValueStorage } from '../platform.ts'
import { createStore } from '../store.ts'
import { tokenKey } from './session.ts'
import type { Session, SessionEnd, SessionState } from './session.ts'
import type { UserScopedStores } from './user-scoped-stores.ts'

export type SessionDeps = {
  storage: KeyValueStorage
  userScopedStores: UserScopedStores
  selfIds: SelfIds
  /** The user of the session's token. */
  fetchUser: () => Promise<User>
  /** What is stored of the connections to the user's other instances. */
  readInstances: (user: User) => StoredRemote[]
  /** Connects to the user's other instances; not awaited. */
  connectInstances: (user: User, password: string | null, stored: StoredRemote[]) => void
}

const loggedOut: SessionEnd = { reason: 'logged_out', message: 'You have logged out.' }
const endedElsewhere: SessionEnd = { reason: 'ended_elsewhere', message: 'You have logged out in another tab.' }
const loadFailed: SessionEnd = {
  reason: 'load_failed',
  message: 'Your account could not be loaded. Please log in again.',
}

/** Makes the session store. Spec: Client session behaviour. */
export function createSession(deps: SessionDeps): Session {
  const { storage } = deps
  const store = createStore<SessionState>({ ...noSession, token: storage.getItem(tokenKey) })
  let loading: Promise<User | null> | null = null

  const change = (part: Partial<SessionState>) => store.set({ ...store.getSnapshot(), ...part })
  /** Clears all state of the previous user; a response that arrives for them later is ignored. */
  const reset = (next: SessionState) => {
    loading = null
    deps.userScopedStores.resetAll()
    deps.selfIds.clear()
    store.set(next)
  }
  const takeOverToken = (token: string) => {
    const { user } = store.getSnapshot()
    if (user && userIdOf(token) === user.id) {
      change({ token })
    } else {
      reset({ ...noSession, token })
      void loadUser()
    }
  }
  const invalidateToken = (token: string, ended: SessionEnd) => {
    const current = store.getSnapshot().token
    if (current !== token) return current === null
    const stored = storage.getItem(tokenKey)
    if (stored !== null && stored !== token) {
      takeOverToken(stored)
      return false
    }
    storage.removeItem(tokenKey)
    reset({ ...noSession, ended })
    return true
  }
  const fetchUser = async (token: string, isCurrent: () => boolean) => {
    try {
      const user = await deps.fetchUser()
      if (!isCurrent()) return
      loading = null
      change({ user, loading: false })
      deps.connectInstances(user, null, deps.readInstances(user))
    } catch {
      if (!isCurrent()) return
      loading = null
      change({ loading: false })
      invalidateToken(token, loadFailed)
    }
  }
  const loadUser = (): Promise<User | null> => {
    const { token, user } = store.getSnapshot()
    if (!token || user) return Promise.resolve(user)
    if (loading) return loading
    change({ loading: true })
    const run: Promise<User | null> = fetchUser(token, () => loading === run).then(() => store.getSnapshot().user)
    loading = run
    return run
  }

  return {
    subscribe: store.subscribe,
    getSnapshot: store.getSnapshot,
    initSession: (token, user, secrets = {}) => {
      const stored = deps.readInstances(user) // before the reset, which deletes it
      // Before the token is saved, so that it is never stored beside data of the previous user.
      reset(noSession)
      storage.setItem(tokenKey, token)
      store.set({ ...noSession, token, user })
      deps.connectInstances(user, secrets.password ?? null, stored)
    },
    loadUser,
    logout: () => {
      storage.removeItem(tokenKey)
      reset({ ...noSession, ended: loggedOut })
    },
    replaceToken: (token) => {
      storage.setItem(tokenKey, token)
      change({ token })
    },
    setUser: (user) => {
      if (store.getSnapshot().user?.id === user.id) change({ user })
    },
    invalidateToken,
    readStorage: () => {
      const stored = storage.getItem(tokenKey)
      const { token } = store.getSnapshot()
      if (stored === token) return
      if (stored === null) reset({ ...noSession, ended: endedElsewhere })
      else takeOverToken(stored)
    },
  }
}

const noSession: SessionState = { token: null, user: null, loading: false, ended: null }

/**
 * The user id in a token, or null when it is unreadable. The token is not verified: the id only tells the tokens of
 * different users apart.
 */
function userIdOf(token: string): string | null {
  try {
    const payload = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')
    const { userId } = JSON.parse(atob(payload)) as { userId?: unknown }
    return typeof userId === 'string' ? userId : null
  } catch {
    return null
  }
}
