import { ApiError, RateLimited } from '../api/errors.ts'
import type { User } from '../api/records.ts'
import { readStoredRemotes, type StoredRemote } from '../connections/remotes.ts'
import type { SelfIds } from '../identity/identity.ts'
import type { ClientClock, Jitter, KeyValueStorage } from '../platform.ts'
import { addTo, createStore } from '../store.ts'
import { reconnectDelayMs, wait } from '../wait.ts'
import { readClaims } from './claims.ts'

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

export type Session = ReturnType<typeof createSession>

export const noSession: SessionState = { token: null, user: null, loading: false, reconnecting: false, ended: null }
const loggedOut: SessionEnd = { reason: 'logged_out', message: 'Logged out.' }
const endedElsewhere: SessionEnd = {
  reason: 'ended_elsewhere',
  message: 'Logged out in this browser.',
}
const loadFailed: SessionEnd = {
  reason: 'load_failed',
  message: 'Your account could not be loaded. Please log in again.',
}

/** Starts with the stored token and no user: `loadUser` asks for it. Spec: Client session behaviour. */
// eslint-disable-next-line max-lines-per-function -- one thing: its functions share its state
export function createSession(deps: {
  clock: ClientClock
  jitter: Jitter
  storage: KeyValueStorage
  userScopedStores: UserScopedStores
  selfIds: SelfIds
  fetchUser: () => Promise<User>
  connectInstances: (user: User, password: string | null, stored: StoredRemote[]) => void
}) {
  const { storage } = deps
  const { set, ...store } = createStore<SessionState>({ ...noSession, token: storage.getItem(tokenKey) })
  let loading: Promise<User | null> | null = null
  let pause = new AbortController()

  const change = (part: Partial<SessionState>) => set({ ...store.getSnapshot(), ...part })
  const close = (): void => {
    loading = null
    pause.abort()
  }
  /** Late responses for the previous user are ignored. */
  const reset = (next: SessionState) => {
    close()
    deps.userScopedStores.resetAll()
    deps.selfIds.clear()
    set(next)
  }
  const takeOverToken = (token: string) => {
    const { user } = store.getSnapshot()
    if (user && readClaims(token)?.userId === user.id) return change({ token })
    reset({ ...noSession, token })
    void loadUser()
  }
  const invalidateToken = (token: string, ended: SessionEnd): boolean => {
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
        return deps.connectInstances(user, null, readStoredRemotes(storage, user.id))
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
    ...store,
    /** Connects the other instances with their stored tokens, else with `password`. */
    initSession: (token: string, user: User, secrets: { password?: string } = {}): void => {
      const stored = readStoredRemotes(storage, user.id) // before the reset, which deletes it
      // Before the token is saved: it must not stand beside data of the previous user.
      reset(noSession)
      storage.setItem(tokenKey, token)
      set({ ...noSession, token, user })
      deps.connectInstances(user, secrets.password ?? null, stored)
    },
    /** Null: no token, or a refused one (401, 403, 404). Other failures are tried again. */
    loadUser,
    logout: (): void => {
      storage.removeItem(tokenKey)
      reset({ ...noSession, ended: loggedOut })
    },
    /**
     * False, and nothing changes, where `before` is no longer the token: a logout or another login came first. A token that another
     * tab renewed meanwhile is replaced.
     */
    replaceToken: (token: string, before = store.getSnapshot().token): boolean => {
      const stored = storage.getItem(tokenKey)
      if (store.getSnapshot().token !== before || (stored !== before && !isRenewal(stored, token))) return false
      storage.setItem(tokenKey, token)
      change({ token })
      return true
    },
    setUser: (user: User): void => {
      if (store.getSnapshot().user?.id === user.id) change({ user })
    },
    /** Ignores any token but the current one. Returns whether no session is left. */
    invalidateToken,
    /** The stored session stays. */
    close,
    /** Needed after a change in another tab. */
    readStorage: (): void => {
      const stored = storage.getItem(tokenKey)
      if (stored === store.getSnapshot().token) return
      if (stored === null) reset({ ...noSession, ended: endedElsewhere })
      else takeOverToken(stored)
    },
  }
}

/** Of the instance: foreign answers are a NetworkFailure. Contract: 1, Foreign answers. */
function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && [401, 403, 404].includes(error.status)
}

/** Whether the stored token is an earlier one of the same user. */
function isRenewal(stored: string | null, token: string): boolean {
  const [earlier, later] = [readClaims(stored), readClaims(token)]
  return earlier?.userId !== undefined && earlier.userId === later?.userId && (earlier.iat ?? 0) <= (later.iat ?? 0)
}

export type UserScopedStores = ReturnType<typeof createUserScopedStores>

export function createUserScopedStores() {
  const stores = new Set<{ reset(): void }>()
  return {
    register: (store: { reset(): void }) => addTo(stores, store),
    resetAll: (): void => [...stores].forEach((store) => store.reset()),
  }
}

/** Acts that replace the token, one after the other. The server revokes the old one early: refusals of it must wait. */
export function createTokenChanges() {
  let running = 0
  let last: Promise<unknown> = Promise.resolve()
  const deferred: (() => void)[] = []
  return {
    run: async <T>(change: () => Promise<T>): Promise<T> => {
      running += 1
      const turn = last.then(change)
      last = turn.catch(() => undefined)
      try {
        return await turn
      } finally {
        running -= 1
        if (!running) deferred.splice(0).forEach((action) => action())
      }
    },
    /** At once, where none is running. */
    afterwards: <T>(action: () => T): T | undefined => {
      if (!running) return action()
      deferred.push(action)
      return undefined
    },
  }
}
