import { createAccountActions } from './account-actions.ts'
import { createApi } from './api/api.ts'
import type { ApiOptions } from './api/options.ts'
import type { Client, ClientOptions } from './client-parts.ts'
import { createConnections } from './connections/create-connections.ts'
import { createPasswordPropagation } from './connections/password-propagation.ts'
import { createRemoteList } from './connections/remote-list.ts'
import { createRemoteLiveConnections } from './connections/remote-live-connections.ts'
import { createRemoteSessions } from './connections/remote-sessions.ts'
import { createReplicatedInstances } from './connections/replicated-instances.ts'
import { readStoredRemotes } from './connections/stored-remotes.ts'
import { verifyHomePassword } from './connections/verify-home-password.ts'
import { createCountdown } from './countdown.ts'
import { createIdentity } from './identity/identity.ts'
import { isReady } from './live/frames.ts'
import { createLiveConnection } from './live/live-connection.ts'
import type { LiveDeps } from './live/live-connection.ts'
import { tokenRefused } from './live/session-end.ts'
import { createAvailabilityCheck } from './registration/availability-check.ts'
import { createSession } from './session/create-session.ts'
import { createPasswordChange } from './session/password-change.ts'
import type { SessionEnd } from './session/session.ts'
import { createUserScopedStores } from './session/user-scoped-stores.ts'

/** Call `client.session.loadUser()` once at start. */
export function createClient(options: ClientOptions): Client {
  const { origin, storage, clock, jitter, openSocket } = options
  const passwordChange = createPasswordChange()
  const apiAt = (at: Omit<ApiOptions, 'fetch' | 'clock'>) => createApi({ fetch: options.fetch, clock, ...at })
  const liveAt = (at: Pick<LiveDeps, 'origin' | 'token' | 'onRefused'>) =>
    createLiveConnection({ openSocket, clock, jitter, ...at })

  const identity = createIdentity(new URL(origin).host)
  const { selfIds } = identity
  const userScopedStores = createUserScopedStores()
  const session = createSession({
    storage,
    clock,
    jitter,
    userScopedStores,
    selfIds,
    fetchUser: () => api.call('getSelf'),
    readInstances: (user) => readStoredRemotes(storage, user.id),
    connectInstances: (user, password, stored) => void connections.connectAll(user, password, stored),
  })
  const token = () => session.getSnapshot().token
  /** A password change revokes the old token early. */
  const invalidate = (refused: string, end: SessionEnd) => {
    if (!passwordChange.defer(() => session.invalidateToken(refused, end))) return session.invalidateToken(refused, end)
    return false
  }
  const api = apiAt({ origin, token, onTokenRefused: (refused) => void invalidate(refused, tokenRefused) })
  const live = liveAt({ origin, token, onRefused: invalidate })
  live.onEvent((event) => {
    if (!isReady(event)) return
    selfIds.add(event.user.id)
    session.setUser(event.user)
  })

  const remotes = createRemoteList(storage)
  const liveConnections = createRemoteLiveConnections({ remotes, selfIds, createLive: liveAt })
  const sessions = createRemoteSessions({ remotes, liveConnections, createRemoteApi: apiAt })
  const changeReplicatedInstances = createReplicatedInstances({ api, session })
  const connections = createConnections({
    homeOrigin: origin,
    homeApi: api,
    remotes,
    liveConnections,
    sessions,
    changeReplicatedInstances,
    session,
  })
  const passwordPropagation = createPasswordPropagation({
    remotes,
    createRemoteApi: apiAt,
    clock,
    verifyPassword: async (password, options) => {
      const { user } = session.getSnapshot()
      if (user) await verifyHomePassword(api, user, password, options)
    },
  })

  userScopedStores.register({ reset: passwordPropagation.cancelAll })
  userScopedStores.register(connections)
  userScopedStores.register({ reset: live.close })
  const unsubscribe = session.subscribe(() => {
    const { user } = session.getSnapshot()
    if (token() && user) live.open()
    else live.close()
  })
  const stopWatching = options.watchStorage?.(() => {
    if (!passwordChange.defer(session.readStorage)) session.readStorage()
    void connections.readStorage()
  })

  return {
    ...api,
    session,
    connections,
    passwordPropagation,
    live,
    userScopedStores,
    identity,
    createCountdown: () => createCountdown(clock),
    createAvailabilityCheck: () => createAvailabilityCheck({ api, clock }),
    ...createAccountActions({
      api,
      apiWithToken: (fixed) => apiAt({ origin, token: () => fixed }),
      storage,
      session,
      connections,
      passwordPropagation,
      passwordChange,
    }),
    close: () => {
      unsubscribe()
      stopWatching?.()
      session.close()
      live.close()
      passwordPropagation.cancelAll()
      liveConnections.closeAll()
    },
  }
}
