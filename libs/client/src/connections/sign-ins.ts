import { baseUsername, normalizeHost } from '@gatehouse/contracts/constants'
import type { Api } from '../api/api.ts'
import type { CallOptions } from '../api/call.ts'
import { ApiError } from '../api/errors.ts'
import type { User } from '../api/records.ts'
import { changePasswordOn } from './password-propagation.ts'
import {
  federatedIdentityOf,
  signInByIdentity,
  type CreateRemoteApi,
  type RemoteSessions,
  type SignInSignals,
} from './remote-sessions.ts'
import type { RemoteInstance, RemoteList } from './remotes.ts'

type Caller = Pick<Api, 'call'>
type There = Pick<RemoteInstance, 'origin' | 'username' | 'token'>

export type GivenPasswords = {
  /** Of the home. */
  password: string | null
  /** Of an account that exists there. */
  remotePassword?: string | undefined
  /** The user has listed the instance: its account may be older than the issued password, and knows the home's. */
  isListed?: boolean
}

/** With the password that the home issues for the instance, where it issues one. federation-wire-2.md 3. */
export function createSignIns(deps: {
  homeOrigin: string
  homeApi: Caller
  remotes: RemoteList
  sessions: RemoteSessions
  createRemoteApi: CreateRemoteApi
}) {
  const { remotes, sessions } = deps
  const identityOf = (user: User) => federatedIdentityOf(user, hostOf(deps.homeOrigin))

  /** Of a replica the session at its home. Null: there is none. */
  const homeApiOf = ({ homeInstance }: User): Caller | null => {
    if (homeInstance === null) return deps.homeApi
    const session = remotes.getSnapshot().find(({ origin, token }) => token && hostOf(origin) === homeInstance)
    return session ? sessions.apiFor(session.origin) : null
  }
  /** Null: an older home. Throws the API's errors. */
  const issue = async (home: Caller, origin: string, options: CallOptions) => {
    try {
      return await home.call('federationCredential', { body: { origin }, ...options })
    } catch (error) {
      if (error instanceof ApiError && (error.status === 404 || error.status === 405)) return null
      throw error
    }
  }
  /** Not awaited: the next session elsewhere marks it again. */
  const mark = (home: Caller, origin: string) =>
    void home.call('federationCredential', { body: { origin, markProvisioned: true } }).catch(() => undefined)
  const setPassword = async (there: There, home: Caller, secret: string, options: CallOptions) => {
    const token = await changePasswordOn(deps.createRemoteApi, there, secret, options)
    mark(home, there.origin)
    return token
  }

  return {
    identityOf,
    homeApiOf,
    /** Returns the username there. Throws the API's errors. */
    signIn: (origin: string, user: User, given: GivenPasswords, signals: SignInSignals) => {
      const attempt = async (api: Api, options: CallOptions) => {
        const identity = identityOf(user)
        const isHome = hostOf(origin) === identity.homeInstance
        const home = homeApiOf(user)
        if (!home && !isHome) throw new ApiError(403, 'Connect your home instance first')
        const issued = home && !isHome ? await issue(home, origin, options) : null
        const { remotePassword, password: ofHome } = given
        const isOld = !issued || (given.isListed && !issued.provisioned)
        const ofThere = remotePassword || issued?.secret
        const passwords = [ofThere, !remotePassword && isOld && ofHome].filter((text) => !!text) as string[]
        const knownUsername = isHome ? baseUsername(identity.username) : remotes.find(origin)?.username
        const secrets = { passwords, knownUsername, isRegistered: isHome || !!remotePassword }
        const { password, ...signedIn } = await signInByIdentity(api, identity, secrets, options)
        if (!issued || !home) return { ...signedIn, ownPassword: false }
        if (password !== issued.secret) {
          const there = { origin, username: signedIn.user.username, token: signedIn.token }
          const token = await setPassword(there, home, issued.secret, options).catch(() => null)
          return { ...signedIn, ...(token && { token }), ownPassword: !!token }
        }
        if (!issued.provisioned) mark(home, origin)
        return { ...signedIn, ownPassword: true }
      }
      return sessions.signIn(origin, attempt, signals)
    },
    /** For a session that began without the issued password. Never rejects. */
    provision: async (origin: string, user: User, signal: AbortSignal) => {
      const there = remotes.find(origin)
      const home = homeApiOf(user)
      const { homeInstance, homeUserId } = identityOf(user)
      if (!home || !there?.token || there.ownPassword) return
      if (there.user?.homeInstance !== homeInstance || there.user.homeUserId !== homeUserId) return
      try {
        const issued = await issue(home, origin, { signal })
        if (!issued) return
        // Before: a new password of the home must not be sent there meanwhile.
        remotes.change(origin, { ownPassword: true, pendingPasswordSync: false })
        if (issued.provisioned) return
        const token = await setPassword(there, home, issued.secret, { signal })
        if (!signal.aborted) remotes.change(origin, { token })
      } catch {
        const { pendingPasswordSync } = there
        if (!signal.aborted) remotes.change(origin, { ownPassword: false, pendingPasswordSync })
      }
    },
  }
}

const hostOf = (origin: string) => normalizeHost(new URL(origin).host)
