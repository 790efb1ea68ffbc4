import type { Api } from '../api/api.ts'
import { isAborted } from '../api/errors.ts'
import type { ApiOptions } from '../api/options.ts'
import { signInByIdentity } from './federated-identity.ts'
import type { FederatedIdentity } from './federated-identity.ts'
import { stateAfter } from './remote-instance.ts'
import type { RemoteList } from './remote-list.ts'
import type { RemoteLiveConnections } from './remote-live-connections.ts'

export type CreateRemoteApi = (options: Pick<ApiOptions, 'origin' | 'token' | 'onTokenRefused'>) => Api

/** `ended`: the own session. `cancelled`: also the caller's abort. */
export type SignInSignals = { ended: AbortSignal; cancelled: AbortSignal }

export type RemoteSessions = {
  apiFor(origin: string): Api
  /** Returns the username there. Throws the API's errors. */
  signIn(origin: string, identity: FederatedIdentity, password: string, signals: SignInSignals): Promise<string>
  /** Never rejects. */
  restore(origin: string, ended: AbortSignal): Promise<void>
}

export function createRemoteSessions(deps: {
  remotes: RemoteList
  liveConnections: RemoteLiveConnections
  createRemoteApi: CreateRemoteApi
}): RemoteSessions {
  const { remotes, liveConnections } = deps
  const apiFor = (origin: string) =>
    deps.createRemoteApi({
      origin,
      token: () => remotes.find(origin)?.token ?? null,
      onTokenRefused: (token) => {
        if (remotes.find(origin)?.token !== token) return
        liveConnections.close(origin)
        remotes.change(origin, { token: null, state: 'needs_password', error: 'The session there has ended' })
      },
    })
  const signIn: RemoteSessions['signIn'] = async (origin, identity, password, { ended, cancelled }) => {
    const knownUsername = remotes.find(origin)?.username ?? null
    remotes.change(origin, { state: 'connecting', error: null })
    try {
      const secrets = { password, knownUsername }
      const { token, user } = await signInByIdentity(apiFor(origin), identity, secrets, { signal: cancelled })
      ended.throwIfAborted()
      // The remote has verified the password: it is the home's.
      remotes.change(origin, { token, user, username: user.username, state: 'connected', pendingPasswordSync: false })
      liveConnections.open(origin)
      return user.username
    } catch (error) {
      if (!ended.aborted) {
        remotes.change(origin, isAborted(error) ? { state: 'needs_password' } : stateAfter(error))
      }
      throw error
    }
  }
  const restore: RemoteSessions['restore'] = async (origin, ended) => {
    remotes.change(origin, { state: 'connecting', error: null })
    try {
      const user = await apiFor(origin).call('getSelf', { signal: ended })
      if (!ended.aborted) remotes.change(origin, { user, state: 'connected' })
    } catch (error) {
      if (!ended.aborted && remotes.find(origin)?.token) remotes.change(origin, stateAfter(error))
    }
    // An unreachable instance too: the connection retries.
    if (!ended.aborted && remotes.find(origin)?.token) liveConnections.open(origin)
  }
  return { apiFor, signIn, restore }
}
