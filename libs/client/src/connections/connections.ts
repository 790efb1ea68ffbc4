import type { Api } from '../api/api.ts'
import type { CallOptions } from '../api/call.ts'
import { ApiError } from '../api/errors.ts'
import type { ReplicatedInstance, User } from '../api/records.ts'
import type { Session } from '../session/session.ts'
import type { Store } from '../store.ts'
import type { CreateRemoteApi, RemoteSessions } from './remote-sessions.ts'
import { newRemote, originOfAddress, type RemoteInstance, type RemoteList, type StoredRemote } from './remotes.ts'
import { createSignIns } from './sign-ins.ts'

export type ConnectOptions = CallOptions & { remotePassword?: string | undefined }

/** Ordered by origin. */
export type Connections = Store<readonly RemoteInstance[]> & {
  find(origin: string): RemoteInstance | null
  apiOf(origin: string): Api | null
  /**
   * Adds the origin to replicatedInstances. `password` is the home's, and verified there; `remotePassword` that of an account
   * that exists at the origin. Throws the API's errors, 400 for a bad address, 401 where only `remotePassword` helps.
   */
  connect(address: string, password: string, options?: ConnectOptions): Promise<RemoteInstance>
  retry(origin: string): Promise<void>
  /** The instance stays listed. */
  disconnect(origin: string): void
  /** Also from replicatedInstances. */
  remove(origin: string): Promise<void>
  /** After the own instance has removed them. */
  removeLocally(origins: readonly string[]): void
  /** Tries stored tokens first. Never rejects. Without a password it may leave `needs_password`. */
  connectAll(user: User, password: string | null, stored: readonly StoredRemote[]): Promise<void>
  /** Never rejects. */
  readStorage(): Promise<void>
  reset(): void
}

/** Spec: Client session behaviour, initSession. */
export function createConnections(deps: {
  homeOrigin: string
  homeApi: Pick<Api, 'call'>
  remotes: RemoteList
  sessions: RemoteSessions
  createRemoteApi: CreateRemoteApi
  session: Pick<Session, 'getSnapshot' | 'setUser'>
}): Connections {
  const { remotes, sessions } = deps
  const { identityOf, homeApiOf, signIn, provision } = createSignIns(deps)
  const allowHttp = deps.homeOrigin.startsWith('http:')
  let sessionEnd = new AbortController()
  let lastChange: Promise<void> = Promise.resolve()

  /** One after the other: each change sends the whole list. */
  const changeReplicatedInstances = (change: (instances: ReplicatedInstance[]) => ReplicatedInstance[]) => {
    const sent = lastChange.then(async () => {
      const { user } = deps.session.getSnapshot()
      const replicatedInstances = change(user?.replicatedInstances ?? [])
      if (!user || JSON.stringify(replicatedInstances) === JSON.stringify(user.replicatedInstances)) return
      deps.session.setUser(await deps.homeApi.call('patchSelf', { body: { replicatedInstances } }))
    })
    lastChange = sent.catch(() => undefined)
    return sent
  }
  /** Not awaited: an admin may have to decide. */
  const ensurePeering = (remoteOrigin: string) =>
    void deps.homeApi.call('ensurePeer', { body: { remoteOrigin, reason: 'instance_connect' } }).catch(() => undefined)
  const listOthers = (user: User): ReplicatedInstance[] =>
    user.replicatedInstances.flatMap(({ origin: address, username }) => {
      const origin = originOfAddress(address, { allowHttp })
      return origin && origin !== deps.homeOrigin ? [{ origin, username }] : []
    })
  const removeLocally = (origins: readonly string[]) => {
    for (const origin of origins) {
      sessions.close(origin)
      remotes.remove(origin)
    }
    const { user } = deps.session.getSnapshot()
    if (user) deps.session.setUser({ ...user, replicatedInstances: withoutOrigins(user.replicatedInstances, origins) })
  }
  const connect = async (address: string, password: string, options: ConnectOptions = {}) => {
    const { user } = deps.session.getSnapshot()
    const origin = originOfAddress(address, { allowHttp })
    if (!origin || origin === deps.homeOrigin) throw new ApiError(400, 'Enter the address of another instance')
    if (!user) throw new ApiError(401, 'Log in first')
    const ended = sessionEnd.signal
    const cancelled = options.signal ? AbortSignal.any([options.signal, ended]) : ended
    const home = homeApiOf(user)
    if (home) await verifyHomePassword(home, password, { signal: cancelled })
    const isNew = !remotes.find(origin)
    if (isNew) remotes.put(newRemote(origin, identityOf(user).username))
    const given = { password, remotePassword: options.remotePassword, isListed: !isNew }
    const username = await signIn(origin, user, given, { ended, cancelled }).catch((error: unknown) => {
      if (isNew && !ended.aborted) remotes.remove(origin)
      throw error
    })
    await changeReplicatedInstances((instances) => [
      ...withoutOrigins(instances, [origin]),
      { origin, username },
    ]).catch(() => remotes.change(origin, { error: 'Connected, but your account could not be updated' }))
    ensurePeering(origin)
    return remotes.find(origin) ?? newRemote(origin, username)
  }

  return {
    subscribe: remotes.subscribe,
    getSnapshot: remotes.getSnapshot,
    find: remotes.find,
    apiOf: (origin) => (remotes.find(origin)?.token ? sessions.apiFor(origin) : null),
    connect,
    retry: async (origin) => {
      if (remotes.find(origin)?.token) await sessions.restore(origin, sessionEnd.signal)
    },
    disconnect: (origin) => {
      sessions.close(origin)
      remotes.change(origin, { token: null, state: 'disconnected', error: null, online: false })
    },
    remove: async (origin) => {
      await changeReplicatedInstances((instances) => withoutOrigins(instances, [origin]))
      removeLocally([origin])
    },
    removeLocally,
    connectAll: async (user, password, stored) => {
      remotes.setOwner(user.id)
      const ended = sessionEnd.signal
      const others = listOthers(user).map(({ origin, username }) => {
        const kept = stored.find((remote) => remote.origin === origin)
        const { token = null, ownPassword = false, pendingPasswordSync = false } = kept ?? {}
        // A session that ended on this device needs its person.
        const state = token || password !== null || !kept ? 'connecting' : 'needs_password'
        return newRemote(origin, username, { token, ownPassword, pendingPasswordSync, state })
      })
      others.forEach(remotes.put)
      const connectOne = async ({ origin, token, state }: RemoteInstance) => {
        if (token) {
          await sessions.restore(origin, ended)
          await provision(origin, user, ended)
        }
        const remote = remotes.find(origin)
        if (ended.aborted || !remote || state !== 'connecting' || (remote.token && !remote.pendingPasswordSync)) return
        if (token && password === null) return
        await signIn(origin, user, { password, isListed: true }, { ended, cancelled: ended })
        ensurePeering(origin)
      }
      await Promise.allSettled(others.map(connectOne))
    },
    readStorage: async () => {
      const ended = sessionEnd.signal
      await Promise.all(remotes.readStoredTokens().map((origin) => sessions.restore(origin, ended)))
    },
    reset: () => {
      sessionEnd.abort()
      sessionEnd = new AbortController()
      remotes.clear() // first: closing connections must not overwrite the stored list of the next user
      sessions.closeAll()
    },
  }
}

function withoutOrigins(instances: readonly ReplicatedInstance[], origins: readonly string[]): ReplicatedInstance[] {
  return instances.filter(({ origin }) => !origins.includes(originOfAddress(origin, { allowHttp: true }) ?? origin))
}

/** Throws a 403 for a wrong password. */
export async function verifyHomePassword(
  api: Pick<Api, 'call'>,
  password: string,
  options: CallOptions = {},
): Promise<void> {
  const { valid } = await api.call('verifyPassword', { body: { password }, ...options })
  if (!valid) throw new ApiError(403, 'Incorrect password', { code: 'password_incorrect' })
}
