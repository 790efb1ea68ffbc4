import type { Api, ApiOptions, CallOptions } from '../api/api.ts'
import { isAborted } from '../api/errors.ts'
import type { SignedIn } from '../api/records.ts'
import type { SelfIds } from '../identity/identity.ts'
import { isReady } from '../live/frames.ts'
import type { LiveConnection, LiveDeps } from '../live/live-connection.ts'
import type { RenewableSession, Renewals } from '../session/renewal.ts'
import { stateAfter, type RemoteList } from './remotes.ts'

export type CreateRemoteApi = (options: Pick<ApiOptions, 'origin' | 'token' | 'onTokenRefused'>) => Api

/** `ended`: the own session. `cancelled`: also the caller's abort. */
export type SignInSignals = { ended: AbortSignal; cancelled: AbortSignal }
type SignInAttempt = (api: Api, options: CallOptions) => Promise<SignedIn & { ownPassword: boolean }>
export type RemoteSessions = ReturnType<typeof createRemoteSessions>

/** The sessions at other instances, and their live connections. */
// eslint-disable-next-line max-lines-per-function -- one thing: its functions share its state
export function createRemoteSessions(deps: {
  remotes: RemoteList
  selfIds: SelfIds
  renewals: Renewals
  createRemoteApi: CreateRemoteApi
  createLive: (live: Pick<LiveDeps, 'origin' | 'token' | 'onRefused'>) => LiveConnection
}) {
  const { remotes } = deps
  const connections = new Map<string, { live: LiveConnection; session: RenewableSession }>()

  const tokenFor = (origin: string) => remotes.find(origin)?.token ?? null
  const createLive = (origin: string) => {
    const live = deps.createLive({
      origin,
      token: () => tokenFor(origin),
      onRefused: (token, end) => {
        if (tokenFor(origin) !== token) return false
        remotes.change(origin, { token: null, state: 'needs_password', error: end.message, online: false })
        return true
      },
    })
    const session: RenewableSession = { origin, readToken: () => tokenFor(origin), renew: () => renew(origin) }
    live.onEvent((event) => {
      if (!isReady(event)) return
      deps.selfIds.add(event.user.id)
      deps.renewals.connected(session, event.serverTime)
      remotes.change(origin, { state: 'connected', user: event.user, error: null })
    })
    live.subscribe(() => {
      const online = live.getSnapshot().phase === 'ready'
      if (remotes.find(origin)?.online !== online) remotes.change(origin, { online })
    })
    connections.set(origin, { live, session })
    return live
  }
  const open = (origin: string) => (connections.get(origin)?.live ?? createLive(origin)).open()
  const close = (origin: string) => {
    const connection = connections.get(origin)
    connections.delete(origin)
    if (!connection) return
    deps.renewals.forget(connection.session)
    connection.live.close()
  }
  /** A change of the password meanwhile has revoked what this brings. */
  const renew = async (origin: string) => {
    const before = tokenFor(origin)
    const { token } = await apiFor(origin).call('renewToken')
    if (before !== null && tokenFor(origin) === before) remotes.change(origin, { token })
  }
  remotes.subscribe(() => connections.forEach(({ live }) => live.authenticate()))
  const apiFor = (origin: string) =>
    deps.createRemoteApi({
      origin,
      token: () => tokenFor(origin),
      onTokenRefused: (token) => {
        if (tokenFor(origin) !== token) return
        close(origin)
        remotes.change(origin, { token: null, state: 'needs_password', error: 'Your session there has ended.' })
      },
    })
  /** Returns the username there. Throws the API's errors. */
  const signIn = async (origin: string, { ended, cancelled }: SignInSignals, attempt: SignInAttempt) => {
    remotes.change(origin, { state: 'connecting', error: null })
    try {
      const { token, user, ownPassword } = await attempt(apiFor(origin), { signal: cancelled })
      ended.throwIfAborted()
      const { username } = user
      // The remote has verified the password.
      remotes.change(origin, { token, user, username, ownPassword, state: 'connected', pendingPasswordSync: false })
      open(origin)
      return username
    } catch (error) {
      if (!ended.aborted) remotes.change(origin, isAborted(error) ? { state: 'needs_password' } : stateAfter(error))
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
      if (!ended.aborted && tokenFor(origin)) remotes.change(origin, stateAfter(error))
    }
    // An unreachable instance too: the connection retries.
    if (!ended.aborted && tokenFor(origin)) open(origin)
  }
  return { apiFor, signIn, restore, close, closeAll: () => [...connections.keys()].forEach(close) }
}
