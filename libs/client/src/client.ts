import { createApi, type Api, type ApiOptions, type CallOptions } from './api/api.ts'
import { ApiError } from './api/errors.ts'
import type { Credentials, IdentityDeletionRequest, IdentityDeletions } from './api/records.ts'
import type { Deletion, OwnConfirmation, PasswordUpdate, ProfileChange, SignedIn, User } from './api/records.ts'
import { deleteAccount, type AccountDeletion } from './connections/account-deletion.ts'
import { createConnections, verifyHomePassword, type Connections } from './connections/connections.ts'
import { createPasswordPropagation, type PasswordPropagation } from './connections/password-propagation.ts'
import { createRemoteSessions } from './connections/remote-sessions.ts'
import { createRemoteList } from './connections/remotes.ts'
import { createCountdown, type Countdown } from './countdown.ts'
import { createIdentity, type Identity } from './identity/identity.ts'
import { accountDeleted, isReady, isSecurityNotice, tokenRefused } from './live/frames.ts'
import type { AnyLive, LiveTypes } from './live/frames.ts'
import { createLiveConnection, type LiveConnection, type LiveDeps } from './live/live-connection.ts'
import { memoryStorage, systemClock, systemJitter, type ClientClock, type Fetch, type Jitter } from './platform.ts'
import type { KeyValueStorage, OpenSocket, RunAlone, Socket, WatchActivity, WatchStorage } from './platform.ts'
import { completeRegistration } from './registration/registration-flow.ts'
import type { RegistrationInput, RegistrationOutcome } from './registration/registration-flow.ts'
import { createRenewals, type RenewableSession } from './session/renewal.ts'
import { createSession, createTokenChanges, createUserScopedStores } from './session/session.ts'
import type { Session, SessionEnd, UserScopedStores } from './session/session.ts'

export type ClientOptions = {
  /** For example `https://chat.example`. */
  origin: string
  /** In memory, where it is left out. */
  storage?: KeyValueStorage
  /** Those of the platform, where they are left out: browsers, and Node from 22 on. */
  fetch?: Fetch
  openSocket?: OpenSocket
  clock?: ClientClock
  jitter?: Jitter
  /** Without it, tabs do not share session changes. */
  watchStorage?: WatchStorage
  /** A session is renewed while its person is active. Left out, as for programs: it always is. */
  watchActivity?: WatchActivity
  /** Without it, each tab renews the session that they share. */
  runAlone?: RunAlone
}

export type Client<App extends LiveTypes = AnyLive> = Api & {
  /** Run `session.loadUser()` once at start. */
  session: Session
  connections: Connections
  passwordPropagation: PasswordPropagation
  live: LiveConnection<App>
  /** Each session resets them: `userScopedStores.register({ reset })`. */
  userScopedStores: UserScopedStores
  identity: Identity

  /** `next`: repeat it with the `code` of the second factor. Does not wait for the other instances. */
  logIn(credentials: Credentials, options?: CallOptions): Promise<LogInStep>
  /** `token`: what follows the `#` of a recovery link. */
  recover(recovery: { token: string; newPassword: string; code?: string }, options?: CallOptions): Promise<User>
  logOut(): void
  /** For rate limits: `start(error.retryAfter)`. */
  createCountdown(): Countdown
  /** Navigate when it resolves. A failed avatar upload does not reject. */
  register(input: RegistrationInput, options?: CallOptions): Promise<RegistrationOutcome>
  updateProfile(change: ProfileChange, options?: CallOptions): Promise<User>
  /** Propagates the password in the background. */
  changePassword(passwords: PasswordUpdate, options?: CallOptions): Promise<void>
  /** This session stays. A federated account needs no password, which is what a text is. */
  endSessions(confirmation?: OwnConfirmation | string, options?: CallOptions): Promise<void>
  /** Deletes the identities on connected instances first. */
  deleteAccount(deletion: Deletion, options?: CallOptions): Promise<AccountDeletion>
  deleteFederationIdentities(request: IdentityDeletionRequest, options?: CallOptions): Promise<IdentityDeletions>
  close(): void
}

/** A wrong code is an ApiError: `second_factor_wrong`. */
export type LogInStep = { next: null; user: User } | { next: 'second_factor'; user: null }

/** Call `client.session.loadUser()` once at start. */
// eslint-disable-next-line max-lines-per-function -- one thing: its functions share its state
export function createClient<App extends LiveTypes = AnyLive>(options: ClientOptions): Client<App> {
  const { origin, storage = memoryStorage(), clock = systemClock, jitter = systemJitter } = options
  const { fetch = globalThis.fetch.bind(globalThis), openSocket = (url) => new WebSocket(url) as Socket } = options
  const tokenChanges = createTokenChanges()
  const apiAt = (at: Omit<ApiOptions, 'fetch' | 'clock' | 'jitter'>) => createApi({ fetch, clock, jitter, ...at })
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
    connectInstances: (user, password, stored) => void connections.connectAll(user, password, stored),
  })
  const token = () => session.getSnapshot().token
  /** A password change revokes the old token early. */
  const invalidate = (refused: string, end: SessionEnd) =>
    tokenChanges.afterwards(() => session.invalidateToken(refused, end)) ?? false
  const api = apiAt({ origin, token, onTokenRefused: (refused) => void invalidate(refused, tokenRefused) })
  const live = liveAt({ origin, token, onRefused: invalidate })
  const renewals = createRenewals({ clock, runAlone: options.runAlone ?? ((run) => run()) })
  const ownSession: RenewableSession = {
    origin,
    readToken: () => {
      tokenChanges.afterwards(session.readStorage)
      return token()
    },
    renew: async () => void (await replaceToken(() => api.call('renewToken'))),
  }
  live.onEvent((event) => {
    if (isReady(event)) {
      selfIds.add(event.user.id)
      session.setUser(event.user)
      renewals.connected(ownSession, event.serverTime)
    } else if (event.type === 'pong' && !options.watchActivity) {
      renewals.active()
    } else if (isSecurityNotice(event) && /_(on|off)$/.test(event.what)) {
      const { user } = session.getSnapshot()
      if (user) session.setUser({ ...user, secondFactor: event.what === 'second_factor_on' })
    }
  })

  const remotes = createRemoteList(storage)
  const sessions = createRemoteSessions({ remotes, selfIds, renewals, createLive: liveAt, createRemoteApi: apiAt })
  const connections = createConnections({ homeApi: api, remotes, sessions, session, createRemoteApi: apiAt })
  const verifyPassword = async (proof: OwnConfirmation, options?: CallOptions) => {
    const { user } = session.getSnapshot()
    if (user?.homeInstance === null) await verifyHomePassword(api, proof, options)
  }
  const passwordPropagation = createPasswordPropagation({ remotes, createRemoteApi: apiAt, clock, verifyPassword })

  userScopedStores.register({ reset: passwordPropagation.cancelAll })
  userScopedStores.register(connections)
  userScopedStores.register({ reset: live.close })
  const unsubscribe = session.subscribe(() => {
    const { user } = session.getSnapshot()
    if (!token() || !user) return live.close()
    live.open()
    live.authenticate()
  })
  const stopActivity = options.watchActivity?.(renewals.active)
  const stopWatching = options.watchStorage?.(() => {
    tokenChanges.afterwards(session.readStorage)
    void connections.readStorage()
  })

  const apiWithToken = (fixed: string) => apiAt({ origin, token: () => fixed })
  const replaceToken = (request: () => Promise<{ token: string }>) =>
    tokenChanges.run(async () => {
      const before = token()
      return session.replaceToken((await request()).token, before)
    })
  const signIn = async (request: Promise<SignedIn>, password: string) => {
    const { token, user } = await request
    session.initSession(token, user, { password })
    return user
  }
  const currentUser = () => {
    const { user } = session.getSnapshot()
    if (!user) throw new ApiError(401, 'Log in first.')
    return user
  }

  return {
    ...api,
    session,
    connections,
    passwordPropagation,
    live,
    userScopedStores,
    identity,
    createCountdown: () => createCountdown(clock),
    logIn: async (body, options) => {
      try {
        return { next: null, user: await signIn(api.call('login', { body, ...options }), body.password) }
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'second_factor_required') throw error
        return { next: 'second_factor', user: null }
      }
    },
    recover: (body, options) => signIn(api.call('recover', { body, ...options }), body.newPassword),
    logOut: session.logout,
    register: (input, options) => completeRegistration({ api, apiWithToken, storage, session }, input, options),
    updateProfile: async (body, options) => {
      const user = await api.call('patchSelf', { body, ...options })
      session.setUser(user)
      return user
    },
    changePassword: async (body, options) => {
      const { homeInstance } = currentUser()
      const isReplaced = await replaceToken(() => api.call('changePassword', { body, ...options }))
      // Only at home. Spec: password propagation.
      if (isReplaced && homeInstance === null) void passwordPropagation.propagate(body.newPassword)
    },
    endSessions: async (confirmation, options) => {
      const body = typeof confirmation === 'string' ? { password: confirmation } : confirmation
      await replaceToken(() => api.call('endSessions', { body: body ?? {}, ...options }))
    },
    deleteAccount: async (deletion, options) => {
      if (deletion.username !== currentUser().username) throw new ApiError(400, 'This is not your username.')
      const outcome = await deleteAccount({ api, connections, verifyPassword }, deletion, options)
      const remaining = token() // null when the socket was closed for the deletion before
      if (outcome.deleted && remaining) session.invalidateToken(remaining, accountDeleted)
      return outcome
    },
    deleteFederationIdentities: async (body, options) => {
      const { results } = await api.call('deleteFederationIdentity', { body, ...options })
      connections.removeLocally(Object.keys(results).filter((origin) => results[origin]?.success))
      return results
    },
    close: () => {
      unsubscribe()
      stopWatching?.()
      stopActivity?.()
      session.close()
      live.close()
      passwordPropagation.cancelAll()
      sessions.closeAll()
    },
  }
}
