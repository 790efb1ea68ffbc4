import { normalizeHost, parseFederatedUsername } from '@gatehouse/contracts/constants'
import type { Api } from '../api/api.ts'
import type { ApiOptions, CallOptions } from '../api/call.ts'
import { ApiError, isAborted } from '../api/errors.ts'
import type { Registration, SignedIn, User } from '../api/records.ts'
import type { SelfIds } from '../identity/identity.ts'
import { isReady } from '../live/frames.ts'
import type { LiveConnection, LiveDeps } from '../live/live-connection.ts'
import { stateAfter, type RemoteList } from './remotes.ts'

export type CreateRemoteApi = (options: Pick<ApiOptions, 'origin' | 'token' | 'onTokenRefused'>) => Api

/** `ended`: the own session. `cancelled`: also the caller's abort. */
export type SignInSignals = { ended: AbortSignal; cancelled: AbortSignal }
type SignInAttempt = (api: Api, options: CallOptions) => Promise<SignedIn & { ownPassword: boolean }>
export type RemoteSessions = ReturnType<typeof createRemoteSessions>

/** The sessions at other instances, and their live connections. */
export function createRemoteSessions(deps: {
  remotes: RemoteList
  selfIds: SelfIds
  createRemoteApi: CreateRemoteApi
  createLive: (live: Pick<LiveDeps, 'origin' | 'token' | 'onRefused'>) => LiveConnection
}) {
  const { remotes } = deps
  const connections = new Map<string, LiveConnection>()

  const createLive = (origin: string) => {
    const live = deps.createLive({
      origin,
      token: () => remotes.find(origin)?.token ?? null,
      onRefused: (token, end) => {
        if (remotes.find(origin)?.token !== token) return false
        remotes.change(origin, { token: null, state: 'needs_password', error: end.message, online: false })
        return true
      },
    })
    live.onEvent((event) => {
      if (!isReady(event)) return
      deps.selfIds.add(event.user.id)
      remotes.change(origin, { state: 'connected', user: event.user, error: null })
    })
    live.subscribe(() => {
      const online = live.getSnapshot().phase === 'ready'
      if (remotes.find(origin)?.online !== online) remotes.change(origin, { online })
    })
    return live
  }
  const open = (origin: string) => {
    const live = connections.get(origin) ?? createLive(origin)
    connections.set(origin, live)
    live.open()
  }
  const close = (origin: string) => {
    connections.get(origin)?.close()
    connections.delete(origin)
  }
  const apiFor = (origin: string) =>
    deps.createRemoteApi({
      origin,
      token: () => remotes.find(origin)?.token ?? null,
      onTokenRefused: (token) => {
        if (remotes.find(origin)?.token !== token) return
        close(origin)
        remotes.change(origin, { token: null, state: 'needs_password', error: 'The session there has ended' })
      },
    })
  /** Returns the username there. Throws the API's errors. */
  const signIn = async (origin: string, attempt: SignInAttempt, { ended, cancelled }: SignInSignals) => {
    remotes.change(origin, { state: 'connecting', error: null })
    try {
      const { token, user, ownPassword } = await attempt(apiFor(origin), { signal: cancelled })
      ended.throwIfAborted()
      const username = user.username
      // The remote has verified the password.
      remotes.change(origin, { token, user, username, ownPassword, state: 'connected', pendingPasswordSync: false })
      open(origin)
      return username
    } catch (error) {
      if (!ended.aborted) {
        remotes.change(origin, isAborted(error) ? { state: 'needs_password' } : stateAfter(error))
      }
      throw error
    }
  }
  /** Never rejects. */
  const restore = async (origin: string, ended: AbortSignal) => {
    remotes.change(origin, { state: 'connecting', error: null })
    try {
      const user = await apiFor(origin).call('getSelf', { signal: ended })
      if (!ended.aborted) remotes.change(origin, { user, state: 'connected' })
    } catch (error) {
      if (!ended.aborted && remotes.find(origin)?.token) remotes.change(origin, stateAfter(error))
    }
    // An unreachable instance too: the connection retries.
    if (!ended.aborted && remotes.find(origin)?.token) open(origin)
  }
  return { apiFor, signIn, restore, close, closeAll: () => [...connections.keys()].forEach(close) }
}

export type FederatedIdentity = Omit<Registration, 'password' | 'inviteToken'> & { homeInstance: string }

/** `currentHost`: the default home. Spec: Registration 2. */
export function federatedIdentityOf(user: User, currentHost: string): FederatedIdentity {
  const homeInstance = normalizeHost(user.homeInstance ?? currentHost)
  return {
    username: `${parseFederatedUsername(user.username).baseName}@${homeInstance}`,
    homeInstance,
    homeUserId: user.homeInstance ? user.homeUserId : user.id,
    ...(user.displayName ? { displayName: user.displayName } : {}),
    ...(user.avatarColor ? { avatarColor: user.avatarColor } : {}),
  }
}

type SignInSecrets = { passwords: readonly string[]; knownUsername: string | undefined; isRegistered: boolean }

/**
 * Registers with the first password. Logs in with each after a 409 or the text `already taken`: instances differ in the
 * status. Contract: 3. Also after a 403: closed registration does not exclude existing accounts. `knownUsername`: a
 * different name there. Returns the password that was taken. Spec: Registration 6 and 10; federation-wire-2.md 3.2.
 * Throws the API's errors.
 */
export async function signInByIdentity(
  api: Pick<Api, 'call'>,
  { username, ...identity }: FederatedIdentity,
  { passwords, knownUsername, isRegistered }: SignInSecrets,
  options: CallOptions = {},
): Promise<SignedIn & { password: string }> {
  const [first] = passwords
  if (first === undefined) throw new ApiError(401, 'Enter your password.')
  let refusal: unknown
  if (!isRegistered) {
    try {
      const signedIn = await api.call('register', { body: { username, ...identity, password: first }, ...options })
      return { ...signedIn, password: first }
    } catch (error) {
      const status = error instanceof ApiError ? error.status : null
      const exists = status === 409 || (status !== null && /already taken/i.test((error as ApiError).message))
      if (!exists && status !== 403) throw error
      if (!exists) refusal = error
    }
  }
  for (const password of passwords) {
    try {
      const signedIn = await api.call('login', { body: { username: knownUsername ?? username, password }, ...options })
      return { ...signedIn, password }
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error
      refusal ??= error
    }
  }
  throw refusal
}
