import { createApi } from './api/api.ts'
import type { RequestOptions } from './api/request.ts'
import type { Client, ClientOptions } from './client-parts.ts'
import { createConnections } from './connections/create-connections.ts'
import { createPasswordPropagation } from './connections/password-propagation.ts'
import { createRemoteLinks } from './connections/remote-links.ts'
import { createRemoteList } from './connections/remote-list.ts'
import { createRemoteSessions } from './connections/remote-sessions.ts'
import { createReplicatedInstances } from './connections/replicated-instances.ts'
import { createAccountActions } from './account-actions.ts'
import { createCountdown } from './countdown.ts'
import { createIdentity } from './identity/identity.ts'
import { isReady } from './live/frames.ts'
import { createLiveConnection } from './live/live-connection.ts'
import type { LiveDeps } from './live/live-connection.ts'
import { createAvailabilityCheck } from './registration/availability-check.ts'
import { createPasswordChange } from './session/password-change.ts'
import { createSession } from './session/create-session.ts'
import type { SessionEnd } from './session/session.ts'
import { createUserScopedStores } from './session/user-scoped-stores.ts'

const tokenRefused: SessionEnd = {
  reason: 'token_refused',
  message: 'Your session has ended. Please log in again.',
}

/** Wires a client of the instance at `options.origin`. Run `client.session.loadUser()` once when the page starts. */
export function createClient(options: ClientOptions): Client {
  const { origin, storage, clock, jitter, openSocket } = options
  const passwordChange = createPasswordChange()
  const apiAt = (at: Omit<RequestOptions, 'fetch' | 'clock'>) => createApi({ fetch: options.fetch, clock, ...at })
  const liveAt = (at: Pick<LiveDeps, 'origin' | 'token' | 'onRefused'>) =>
    createLiveConnection({ openSocket, clock, jitter, ...at })

  const identity = createIdentity(new URL(origin).host)
  const { selfIds } = identity
  const userScopedStores = createUserScopedStores()
  const session = createSession({
    storage,
    userScopedStores,
    selfIds,
    fetchUser: () => api.users.me(),
    connectInstances: (user, password) => void connections.connectAll(user, password),
    restoreInstances: (user) => void connections.restoreAll(user),
  })
  const token = () => session.getSnapshot().token
  /** While a password change is under way the old token's death is expected, and its successor is on the way. */
  const refuse = (refused: string, end: SessionEnd) => {
    if (!passwordChange.defer(() => session.refuseToken(refused, end))) return session.refuseToken(refused, end)
    return false
  }
  const api = apiAt({ origin, token, onTokenRefused: (refused) => void refuse(refused, tokenRefused) })
  const live = liveAt({ origin, token, onRefused: refuse })
  live.onEvent((event) => void (isReady(event) && (selfIds.add(event.user.id), session.setUser(event.user))))

  const remotes = createRemoteList(storage)
  const links = createRemoteLinks({ remotes, selfIds, createLive: liveAt })
  const sessions = createRemoteSessions({ remotes, links, createRemoteApi: apiAt })
  const changeReplicated = createReplicatedInstances({ api, session })
  const connections = createConnections({
    homeOrigin: origin,
    homeApi: api,
    remotes,
    links,
    sessions,
    changeReplicated,
    session,
    storage,
  })
  const passwordPropagation = createPasswordPropagation({ remotes, createRemoteApi: apiAt, clock })

  userScopedStores.register({ reset: passwordPropagation.cancelAll })
  userScopedStores.register(connections)
  userScopedStores.register({ reset: live.close })
  const unfollow = session.subscribe(() => {
    const { user } = session.getSnapshot()
    if (token() && user) live.open()
    else live.close()
  })
  const unwatch = options.watchStorage?.(() => {
    if (!passwordChange.defer(session.readStorage)) session.readStorage()
    void connections.readStorage()
  })

  return {
    api,
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
      unfollow()
      unwatch?.()
      live.close()
      passwordPropagation.cancelAll()
      links.closeAll()
    },
  }
}
