import { ApiError, RateLimited } from '../api/errors.ts'
import type { User } from '../api/records.ts'
import type { StoredRemote } from '../connections/remotes.ts'
import type { SelfIds } from '../identity/identity.ts'
import type { ClientClock, Jitter, KeyValueStorage } from '../platform.ts'
import { createStore, type Store } from '../store.ts'
import { reconnectDelayMs, wait } from '../wait.ts'

export const tokenKey = 'service_token'

export type SessionEndReason =
  | 'logged_out'
  | 'load_failed'
  | 'token_refused'
  | 'password_reset'
  | 'account_deleted'
  | 'account_suspended'
  | 'ended_elsewhere'

/** `message` can be shown. */
export type SessionEnd = { reason: SessionEndReason; message: string }

export type SessionState = {
  token: string | null
  user: User | null
  loading: boolean
  /** True while loadUser waits for its next try. */
  reconnecting: boolean
  ended: SessionEnd | null
}

/** Spec: Client session behaviour. */
export type Session = Store<SessionState> & {
  /** Connects the other instances with their stored tokens, else with `password`. */
  initSession(token: string, user: User, secrets?: { password?: string }): void
  /** Null: no token, or a refused one (401, 403, 404). Other failures are tried again. */
  loadUser(): Promise<User | null>
  logout(): void
  replaceToken(token: string): void
  setUser(user: User): void
  /** Ignores any token but the current one. Returns whether no session is left. */
  invalidateToken(token: string, end: SessionEnd): boolean
  /** The stored session stays. */
  close(): void
  /** Needed after a change in another tab. */
  readStorage(): void
}

const loggedOut: SessionEnd = { reason: 'logged_out', message: 'You have logged out.' }
const endedElsewhere: SessionEnd = { reason: 'ended_elsewhere', message: 'You have logged out in another tab.' }
const loadFailed: SessionEnd = {
  reason: 'load_failed',
  message: 'Your account could not be loaded. Please log in again.',
}

/** Spec: Client session behaviour. */
export function createSession(deps: {
  clock: ClientClock
  jitter: Jitter
  storage: KeyValueStorage
  userScopedStores: UserScopedStores
  selfIds: SelfIds
  fetchUser: () => Promise<User>
  readInstances: (user: User) => StoredRemote[]
  connectInstances: (user: User, password: string | null, stored: StoredRemote[]) => void
}): Session {
  const { storage } = deps
  const store = createStore<SessionState>({ ...noSession, token: storage.getItem(tokenKey) })
  let loading: Promise<User | null> | null = null
  let pause = new AbortController()

  const change = (part: Partial<SessionState>) => store.set({ ...store.getSnapshot(), ...part })
  const stopLoading = () => {
    loading = null
    pause.abort()
  }
  /** Late responses for the previous user are ignored. */
  const reset = (next: SessionState) => {
    stopLoading()
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
    for (let attempt = 0; ; attempt += 1) {
      try {
        const user = await deps.fetchUser()
        if (!isCurrent()) return
        loading = null
        change({ user, loading: false, reconnecting: false })
        return deps.connectInstances(user, null, deps.readInstances(user))
      } catch (error) {
        if (!isCurrent()) return
        if (isRefusal(error)) {
          loading = null
          change({ loading: false, reconnecting: false })
          return void invalidateToken(token, loadFailed)
        }
        change({ reconnecting: true })
        pause = new AbortController()
        const retryAfterMs = error instanceof RateLimited ? error.retryAfter * 1000 : 0
        const delayMs = reconnectDelayMs(attempt, deps.jitter())
        await wait(deps.clock, Math.max(delayMs, retryAfterMs), pause.signal)
        if (!isCurrent()) return
      }
    }
  }
  const loadUser = (): Promise<User | null> => {
    const { token, user } = store.getSnapshot()
    if (!token || user) return Promise.resolve(user)
    if (loading) {
      pause.abort()
      return loading
    }
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
      // Before the token is saved: it must not stand beside data of the previous user.
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
    close: stopLoading,
    readStorage: () => {
      const stored = storage.getItem(tokenKey)
      const { token } = store.getSnapshot()
      if (stored === token) return
      if (stored === null) reset({ ...noSession, ended: endedElsewhere })
      else takeOverToken(stored)
    },
  }
}

const noSession: SessionState = { token: null, user: null, loading: false, reconnecting: false, ended: null }

/** Contract: 3, loadUser. */
function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && [401, 403, 404].includes(error.status)
}

/** Null: unreadable. Not verified: it only tells users apart. */
function userIdOf(token: string): string | null {
  try {
    const payload = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')
    const { userId } = JSON.parse(atob(payload)) as { userId?: unknown }
    return typeof userId === 'string' ? userId : null
  } catch {
    return null
  }
}

export type UserScopedStores = ReturnType<typeof createUserScopedStores>

export function createUserScopedStores() {
  const stores = new Set<{ reset(): void }>()
  return {
    register: (store: { reset(): void }): (() => void) => {
      stores.add(store)
      return () => void stores.delete(store)
    },
    resetAll: (): void => {
      for (const store of [...stores]) store.reset()
    },
  }
}

/** The server revokes the old token early: refusals of it must wait. */
export function createPasswordChange() {
  let running = 0
  let deferred: (() => void)[] = []
  const end = () => {
    running -= 1
    if (running > 0) return
    const actions = deferred
    deferred = []
    for (const action of actions) action()
  }
  return {
    run: async <T>(change: () => Promise<T>): Promise<T> => {
      running += 1
      try {
        return await change()
      } finally {
        end()
      }
    },
    defer: (action: () => void): boolean => {
      if (running > 0) deferred.push(action)
      return running > 0
    },
  }
}
