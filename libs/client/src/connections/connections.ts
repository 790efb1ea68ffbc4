import type { Api, CallOptions } from '../api/api.ts'
import { ApiError } from '../api/errors.ts'
import type { OwnConfirmation, ReplicatedInstance, User } from '../api/records.ts'
import type { Session } from '../session/session.ts'
import { anySignal } from '../wait.ts'
import { newRemote, originOfAddress, type RemoteInstance, type StoredRemote } from './remotes.ts'
import { createSignIns, type SignInDeps } from './sign-ins.ts'

export type Connections = ReturnType<typeof createConnections>
type ConnectOptions = CallOptions & { remotePassword?: string | undefined }

/** Ordered by origin. Spec: Client session behaviour, initSession. */
// eslint-disable-next-line max-lines-per-function -- one thing: its functions share its state
export function createConnections(deps: SignInDeps & { session: Pick<Session, 'getSnapshot' | 'setUser'> }) {
  const { homeApi, remotes, sessions, session } = deps
  const { subscribe, getSnapshot, find } = remotes
  const { identityOf, homeApiOf, signIn, provision } = createSignIns(deps)
  const allowHttp = homeApi.origin.startsWith('http:')
  let sessionEnd = new AbortController()
  let lastChange: Promise<void> = Promise.resolve()

  /** One after the other: each change sends the whole list. */
  const changeReplicatedInstances = (change: (instances: ReplicatedInstance[]) => ReplicatedInstance[]) => {
    const sent = lastChange.then(async () => {
      const { user } = session.getSnapshot()
      const replicatedInstances = change(user?.replicatedInstances ?? [])
      if (!user || JSON.stringify(replicatedInstances) === JSON.stringify(user.replicatedInstances)) return
      session.setUser(await homeApi.call('patchSelf', { body: { replicatedInstances } }))
    })
    lastChange = sent.catch(() => undefined)
    return sent
  }
  /** Not awaited: an admin may have to decide. */
  const ensurePeering = (remoteOrigin: string) =>
    void homeApi.call('ensurePeer', { body: { remoteOrigin, reason: 'instance_connect' } }).catch(() => undefined)
  const removeLocally = (origins: readonly string[]): void => {
    for (const origin of origins) {
      sessions.close(origin)
      remotes.remove(origin)
    }
    const { user } = session.getSnapshot()
    if (user) session.setUser({ ...user, replicatedInstances: withoutOrigins(user.replicatedInstances, origins) })
  }

  return {
    subscribe,
    getSnapshot,
    find,
    apiOf: (origin: string): Api | null => (find(origin)?.token ? sessions.apiFor(origin) : null),
    /**
     * Adds the origin to replicatedInstances. `password` is the home's, and verified there; `remotePassword` that of an account
     * that exists at the origin. Throws the API's errors, 400 for a bad address, 401 where only `remotePassword` helps.
     */
    connect: async (address: string, password: string, options: ConnectOptions = {}): Promise<RemoteInstance> => {
      const { user } = session.getSnapshot()
      const origin = originOfAddress(address, { allowHttp })
      if (!origin || origin === homeApi.origin) throw new ApiError(400, 'Enter the address of another instance.')
      if (!user) throw new ApiError(401, 'Log in first.')
      const ended = sessionEnd.signal
      const cancelled = anySignal(ended, options.signal)
      const home = homeApiOf(user)
      // Without a password the one that the home issues is enough.
      if (home && user.hasPassword !== false) await verifyHomePassword(home, { password }, { signal: cancelled })
      const isNew = !find(origin)
      if (isNew) remotes.put(newRemote(origin, identityOf(user).username))
      const passwords = { password, remotePassword: options.remotePassword, isListed: !isNew }
      const username = await signIn(origin, user, passwords, { ended, cancelled }).catch((error: unknown) => {
        if (isNew && !ended.aborted) remotes.remove(origin)
        throw error
      })
      const added = { origin, username }
      await changeReplicatedInstances((instances) => [...withoutOrigins(instances, [origin]), added]).catch(() =>
        remotes.change(origin, { error: 'Connected, but your account was not updated.' }),
      )
      ensurePeering(origin)
      return find(origin) ?? newRemote(origin, username)
    },
    retry: async (origin: string): Promise<void> => {
      if (find(origin)?.token) await sessions.restore(origin, sessionEnd.signal)
    },
    /** The instance stays listed. */
    disconnect: (origin: string): void => {
      sessions.close(origin)
      remotes.change(origin, { token: null, state: 'disconnected', error: null, online: false })
    },
    /** Also from replicatedInstances. */
    remove: async (origin: string): Promise<void> => {
      await changeReplicatedInstances((instances) => withoutOrigins(instances, [origin]))
      removeLocally([origin])
    },
    /** After the own instance has removed them. */
    removeLocally,
    /** Tries stored tokens first. Never rejects. Without a password it may leave `needs_password`. */
    connectAll: async (user: User, password: string | null, stored: readonly StoredRemote[]): Promise<void> => {
      remotes.setOwner(user.id)
      const ended = sessionEnd.signal
      const others = user.replicatedInstances.flatMap(({ origin: address, username }) => {
        const origin = originOfAddress(address, { allowHttp })
        if (!origin || origin === homeApi.origin) return []
        const storedRemote = stored.find((remote) => remote.origin === origin)
        const { token = null, ownPassword = false, pendingPasswordSync = false } = storedRemote ?? {}
        // A session that ended on this device needs its person.
        const state = token || password !== null || !storedRemote ? 'connecting' : 'needs_password'
        return newRemote(origin, username, { token, ownPassword, pendingPasswordSync, state })
      })
      others.forEach(remotes.put)
      const connectOne = async ({ origin, token, state }: RemoteInstance) => {
        if (token) {
          await sessions.restore(origin, ended)
          await provision(origin, user, ended)
        }
        const remote = find(origin)
        if (ended.aborted || !remote || state !== 'connecting' || (remote.token && !remote.pendingPasswordSync)) return
        if (token && password === null) return
        await signIn(origin, user, { password, isListed: true }, { ended, cancelled: ended })
        ensurePeering(origin)
      }
      await Promise.allSettled(others.map(connectOne))
    },
    /** Never rejects. */
    readStorage: async (): Promise<void> => {
      const ended = sessionEnd.signal
      await Promise.all(remotes.readStoredTokens().map((origin) => sessions.restore(origin, ended)))
    },
    reset: (): void => {
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

/** Throws a 403 for a wrong password, or ticket. */
export async function verifyHomePassword(
  api: Pick<Api, 'call'>,
  body: OwnConfirmation,
  options?: CallOptions,
): Promise<void> {
  const { valid } = await api.call('verifyPassword', { body, ...options })
  if (!valid) throw new ApiError(403, 'Incorrect password', { code: 'password_incorrect' })
}
