import type { Api } from '../api/api.ts'
import { ApiError } from '../api/errors.ts'
import type { ReplicatedInstance, User } from '../api/records.ts'
import type { CallOptions } from '../api/request.ts'
import type { KeyValueStorage } from '../ports.ts'
import type { Session } from '../session/session.ts'
import type { Connections } from './connections.ts'
import { federatedIdentityOf } from './federated-identity.ts'
import { readKeptRemotes } from './kept-remotes.ts'
import { provePassword } from './prove-password.ts'
import { newRemote, normalizeOrigin } from './remote-instance.ts'
import type { RemoteLinks } from './remote-links.ts'
import type { RemoteList } from './remote-list.ts'
import type { RemoteSessions } from './remote-sessions.ts'
import type { ReplicatedInstances } from './replicated-instances.ts'

export type ConnectionsDeps = {
  homeOrigin: string
  homeApi: Pick<Api, 'users'>
  remotes: RemoteList
  links: RemoteLinks
  sessions: RemoteSessions
  changeReplicated: ReplicatedInstances
  session: Pick<Session, 'getSnapshot' | 'setUser'>
  storage: KeyValueStorage
}

/** Makes the connections to the user's other instances. Spec: Client session behaviour, initSession. */
export function createConnections(deps: ConnectionsDeps): Connections {
  const { remotes, links, sessions } = deps
  const allowHttp = deps.homeOrigin.startsWith('http:')
  /** Fires with the end of the session, for every call made on its behalf. */
  let ending = new AbortController()

  const identityOf = (user: User) => federatedIdentityOf(user, new URL(deps.homeOrigin).host)
  const listOthers = (user: User): ReplicatedInstance[] =>
    user.replicatedInstances.flatMap(({ origin: stated, username }) => {
      const origin = normalizeOrigin(stated, { allowHttp })
      return origin && origin !== deps.homeOrigin ? [{ origin, username }] : []
    })
  const forget = (origins: readonly string[]) => {
    for (const origin of origins) {
      links.close(origin)
      remotes.drop(origin)
    }
    const { user } = deps.session.getSnapshot()
    if (user) deps.session.setUser({ ...user, replicatedInstances: withoutOrigins(user.replicatedInstances, origins) })
  }
  const connect = async (typed: string, password: string, call: CallOptions = {}) => {
    const { user } = deps.session.getSnapshot()
    const origin = normalizeOrigin(typed, { allowHttp })
    if (!origin || origin === deps.homeOrigin) throw new ApiError(400, 'Enter the address of another instance')
    if (!user) throw new ApiError(401, 'Log in first')
    const ended = ending.signal
    const cancelled = call.signal ? AbortSignal.any([call.signal, ended]) : ended
    await provePassword(deps.homeApi, user, password, { signal: cancelled })
    const identity = identityOf(user)
    const isNew = !remotes.find(origin)
    if (isNew) remotes.put(newRemote(origin, identity.username))
    const username = await sessions.signIn(origin, identity, password, { ended, cancelled }).catch((error) => {
      if (isNew && !ended.aborted) remotes.drop(origin)
      throw error
    })
    await deps
      .changeReplicated((instances) => [...withoutOrigins(instances, [origin]), { origin, username }])
      .catch(() => remotes.change(origin, { error: 'Connected, but your account could not be updated' }))
    return remotes.find(origin) ?? newRemote(origin, username)
  }

  return {
    subscribe: remotes.subscribe,
    getSnapshot: remotes.getSnapshot,
    find: remotes.find,
    apiOf: (origin) => (remotes.find(origin)?.token ? sessions.apiFor(origin) : null),
    connect,
    retry: async (origin) => {
      if (remotes.find(origin)?.token) await sessions.restore(origin, ending.signal)
    },
    disconnect: (origin) => {
      links.close(origin)
      remotes.change(origin, { token: null, state: 'disconnected', error: null, online: false })
    },
    remove: async (origin) => {
      await deps.changeReplicated((instances) => withoutOrigins(instances, [origin]))
      forget([origin])
    },
    forget,
    connectAll: async (user, password) => {
      remotes.assign(user.id)
      const others = listOthers(user)
      const ended = ending.signal
      for (const { origin, username } of others) {
        remotes.put(newRemote(origin, username, password === null ? { state: 'needs_password' } : {}))
      }
      if (password === null) return
      const signIn = ({ origin }: ReplicatedInstance) =>
        sessions.signIn(origin, identityOf(user), password, { ended, cancelled: ended })
      await Promise.allSettled(others.map(signIn))
    },
    restoreAll: async (user) => {
      remotes.assign(user.id)
      const kept = new Map(readKeptRemotes(deps.storage, user.id).map((remote) => [remote.origin, remote]))
      const ended = ending.signal
      for (const { origin, username } of listOthers(user)) {
        const { token = null, pendingPasswordSync = false } = kept.get(origin) ?? {}
        const state = token ? 'connecting' : 'needs_password'
        remotes.put(newRemote(origin, username, { token, pendingPasswordSync, state }))
      }
      const tokened = remotes.getSnapshot().filter(({ token }) => token !== null)
      await Promise.all(tokened.map(({ origin }) => sessions.restore(origin, ended)))
    },
    readStorage: async () => {
      const ended = ending.signal
      await Promise.all(remotes.adoptKept().map((origin) => sessions.restore(origin, ended)))
    },
    reset: () => {
      ending.abort()
      ending = new AbortController()
      remotes.clear() // first: closing links must not write this user's list over another's
      links.closeAll()
    },
  }
}

function withoutOrigins(instances: readonly ReplicatedInstance[], origins: readonly string[]): ReplicatedInstance[] {
  return instances.filter(({ origin }) => !origins.includes(normalizeOrigin(origin, { allowHttp: true }) ?? origin))
}
