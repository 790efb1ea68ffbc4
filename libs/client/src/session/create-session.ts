import type { User } from '../api/records.ts'
import type { SelfIds } from '../identity/self-ids.ts'
import type { KeyValueStorage } from '../ports.ts'
import { createStore } from '../store.ts'
import { tokenKey } from './session.ts'
import type { Session, SessionEnd, SessionState } from './session.ts'
import { readTokenUserId } from './token-user-id.ts'
import type { UserScopedStores } from './user-scoped-stores.ts'

export type SessionDeps = {
  storage: KeyValueStorage
  userScopedStores: UserScopedStores
  selfIds: SelfIds
  /** The user of the session's token. */
  fetchUser: () => Promise<User>
  /** Connects to the user's other instances; is not waited for. */
  connectInstances: (user: User, password: string | null) => void
  /** The same after loadUser, with the tokens kept in the storage. */
  restoreInstances: (user: User) => void
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
  const store = createStore<SessionState>({ ...nobody, token: storage.getItem(tokenKey) })
  let loading: Promise<User | null> | null = null

  const change = (part: Partial<SessionState>) => store.set({ ...store.getSnapshot(), ...part })
  /** Everything of the user before goes; an answer still under way for them no longer counts. */
  const switchTo = (next: SessionState) => {
    loading = null
    deps.userScopedStores.resetAll()
    deps.selfIds.clear()
    store.set(next)
  }
  const adoptToken = (token: string) => {
    const { user } = store.getSnapshot()
    if (user && readTokenUserId(token) === user.id) return change({ token })
    switchTo({ ...nobody, token })
    void loadUser()
  }
  const refuseToken = (token: string, ended: SessionEnd) => {
    const held = store.getSnapshot().token
    if (held !== token) return held === null
    const stored = storage.getItem(tokenKey)
    if (stored !== null && stored !== token) {
      adoptToken(stored)
      return false
    }
    storage.removeItem(tokenKey)
    switchTo({ ...nobody, ended })
    return true
  }
  const fetchUser = async (token: string, isCurrent: () => boolean) => {
    try {
      const user = await deps.fetchUser()
      if (!isCurrent()) return
      loading = null
      change({ user, loading: false })
      deps.restoreInstances(user)
    } catch {
      if (!isCurrent()) return
      loading = null
      change({ loading: false })
      refuseToken(token, loadFailed)
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
      // The stores are emptied before the token is saved, so that nothing of the last user survives beside it.
      switchTo(nobody)
      storage.setItem(tokenKey, token)
      store.set({ ...nobody, token, user })
      deps.connectInstances(user, secrets.password ?? null)
    },
    loadUser,
    logout: () => {
      storage.removeItem(tokenKey)
      switchTo({ ...nobody, ended: loggedOut })
    },
    replaceToken: (token) => {
      storage.setItem(tokenKey, token)
      change({ token })
    },
    setUser: (user) => {
      if (store.getSnapshot().user?.id === user.id) change({ user })
    },
    refuseToken,
    readStorage: () => {
      const stored = storage.getItem(tokenKey)
      const { token } = store.getSnapshot()
      if (stored === token) return
      if (stored === null) switchTo({ ...nobody, ended: endedElsewhere })
      else adoptToken(stored)
    },
  }
}

const nobody: SessionState = { token: null, user: null, loading: false, ended: null }
