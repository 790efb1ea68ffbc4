import type { Api } from '../api/api.ts'
import { isAborted } from '../api/errors.ts'
import type { ApiOptions } from '../api/options.ts'
import { signInByIdentity } from './federated-identity.ts'
import type { FederatedIdentity } from './federated-identity.ts'
import { stateAfter } from './remote-instance.ts'
import type { RemoteList } from './remote-list.ts'
import type { RemoteLiveConnections } from './remote-live-connections.ts'

export type CreateRemoteApi = (options: Pick<ApiOptions, 'origin' | 'token' | 'onTokenRefused'>) => Api

/** `ended` fires with the end of the own session, `cancelled` also when the caller aborts. */
export type SignInSignals = { ended: AbortSignal; cancelled: AbortSignal }

/** Starts and restores the session on a listed remote instance. */
export type RemoteSessions = {
  apiFor(origin: string): Api
  /** Signs in by identity; gives the username there. Throws the errors of the API. */
  signIn(origin: string, identity: FederatedIdentity, password: string, signals: SignInSignals): Promise<string>
  /** Validates the stored token; never rejects. */
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
      // The remote has the password of the home instance now: it compared it, or verified it there and stored it.
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
      const user = await apiFor(origin).users.me({ signal: ended })
      if (!ended.aborted) remotes.change(origin, { user, state: 'connected' })
    } catch (error) {
      if (!ended.aborted && remotes.find(origin)?.token) remotes.change(origin, stateAfter(error))
    }
    // Also to an unreachable instance: its live connection reconnects when the instance is back.
    if (!ended.aborted && remotes.find(origin)?.token) liveConnections.open(origin)
  }
  return { apiFor, signIn, restore }
}
