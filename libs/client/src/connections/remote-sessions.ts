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
type SignInSignals = { ended: AbortSignal; cancelled: AbortSignal }
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
  const signIn = async (origin: string, identity: FederatedIdentity, password: string, signals: SignInSignals) => {
    const { ended, cancelled } = signals
    const knownUsername = remotes.find(origin)?.username ?? null
    remotes.change(origin, { state: 'connecting', error: null })
    try {
      const secrets = { password, knownUsername }
      const { token, user } = await signInByIdentity(apiFor(origin), identity, secrets, { signal: cancelled })
      ended.throwIfAborted()
      // The remote has verified the password: it is the home's.
      remotes.change(origin, { token, user, username: user.username, state: 'connected', pendingPasswordSync: false })
      open(origin)
      return user.username
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

type FederatedIdentity = Omit<Registration, 'password' | 'inviteToken'> & { homeInstance: string }

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

/**
 * Logs in after a 409 or the text `already taken`: instances differ in the status. Contract: 3. Also after a 403:
 * closed registration does not exclude existing accounts. `knownUsername`: a different name there. Spec: Registration 6
 * and 10. Throws the API's errors.
 */
async function signInByIdentity(
  api: Pick<Api, 'call'>,
  identity: FederatedIdentity,
  secrets: { password: string; knownUsername?: string | null },
  options: CallOptions = {},
): Promise<SignedIn> {
  const { password, knownUsername } = secrets
  try {
    return await api.call('register', { body: { ...identity, password }, ...options })
  } catch (refusal) {
    const status = refusal instanceof ApiError ? refusal.status : null
    const exists = status === 409 || (status !== null && /already taken/i.test((refusal as ApiError).message))
    if (!exists && status !== 403) throw refusal
    try {
      return await api.call('login', { body: { username: knownUsername ?? identity.username, password }, ...options })
    } catch (error) {
      throw !exists && error instanceof ApiError && error.status === 401 ? refusal : error
    }
  }
}
