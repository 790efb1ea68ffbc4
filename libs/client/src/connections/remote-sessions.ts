import type { Api } from '../api/api.ts'
import { isAborted } from '../api/errors.ts'
import type { RequestOptions } from '../api/request.ts'
import { signInByIdentity } from './federated-identity.ts'
import type { FederatedIdentity } from './federated-identity.ts'
import { stateAfter } from './remote-instance.ts'
import type { RemoteLinks } from './remote-links.ts'
import type { RemoteList } from './remote-list.ts'

export type CreateRemoteApi = (options: Pick<RequestOptions, 'origin' | 'token' | 'onTokenRefused'>) => Api

/** `ended` fires when the own session is over, `cancelled` also when the caller gave up. */
export type Ending = { ended: AbortSignal; cancelled: AbortSignal }

/** How a listed remote instance gets, or gets back, its session. */
export type RemoteSessions = {
  apiFor(origin: string): Api
  /** Signs in by identity; gives the username there. Throws the errors of the API. */
  signIn(origin: string, identity: FederatedIdentity, password: string, ending: Ending): Promise<string>
  /** Tries the kept token; never rejects. */
  restore(origin: string, ended: AbortSignal): Promise<void>
}

export function createRemoteSessions(deps: {
  remotes: RemoteList
  links: RemoteLinks
  createRemoteApi: CreateRemoteApi
}): RemoteSessions {
  const { remotes, links } = deps
  const apiFor = (origin: string) =>
    deps.createRemoteApi({
      origin,
      token: () => remotes.find(origin)?.token ?? null,
      onTokenRefused: (token) => {
        if (remotes.find(origin)?.token !== token) return
        links.close(origin)
        remotes.change(origin, { token: null, state: 'needs_password', error: 'The session there has ended' })
      },
    })
  const signIn: RemoteSessions['signIn'] = async (origin, identity, password, { ended, cancelled }) => {
    const knownUsername = remotes.find(origin)?.username ?? null
    remotes.change(origin, { state: 'connecting', error: null })
    try {
      const proof = { password, knownUsername }
      const { token, user } = await signInByIdentity(apiFor(origin), identity, proof, { signal: cancelled })
      ended.throwIfAborted()
      // The password is the one of home, so the remote has it now: it compared it, or asked home and took it over.
      remotes.change(origin, { token, user, username: user.username, state: 'connected', pendingPasswordSync: false })
      links.open(origin)
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
    if (!ended.aborted && remotes.find(origin)?.token) links.open(origin) // an unreachable one is tried on by the link
  }
  return { apiFor, signIn, restore }
}
