import { baseUsername, normalizeHost } from '@gatehouse/contracts/constants'
import type { Api, CallOptions } from '../api/api.ts'
import { ApiError } from '../api/errors.ts'
import type { Registration, SignedIn, User } from '../api/records.ts'
import { changePasswordOn } from './password-propagation.ts'
import type { CreateRemoteApi, RemoteSessions, SignInSignals } from './remote-sessions.ts'
import type { RemoteInstance, RemoteList } from './remotes.ts'

type Caller = Pick<Api, 'call'>
type There = Pick<RemoteInstance, 'origin' | 'username' | 'token'>

type Credentials = {
  /** Of the home. */
  password: string | null
  /** Of an account that exists there. */
  remotePassword?: string | undefined
  /** The user has listed the instance: its account may be older than the issued password, and knows the home's. */
  isListed?: boolean
}

export type SignInDeps = {
  homeApi: Pick<Api, 'call' | 'origin'>
  remotes: RemoteList
  sessions: RemoteSessions
  createRemoteApi: CreateRemoteApi
}

/** With the password that the home issues for the instance, where it issues one. protocol.md 4.7. */
// eslint-disable-next-line max-lines-per-function -- one thing: its functions share its state
export function createSignIns(deps: SignInDeps) {
  const { homeApi, remotes, sessions } = deps
  const identityOf = (user: User) => federatedIdentityOf(user, hostOf(homeApi.origin))

  /** Of a replica the session at its home. Null: there is none. */
  const homeApiOf = ({ homeInstance }: User): Caller | null => {
    if (homeInstance === null) return homeApi
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
    signIn: (origin: string, user: User, credentials: Credentials, signals: SignInSignals) =>
      sessions.signIn(origin, signals, async (api, options) => {
        const identity = identityOf(user)
        const isHome = hostOf(origin) === identity.homeInstance
        const home = homeApiOf(user)
        if (!home && !isHome) throw new ApiError(403, 'Connect to your home instance first.')
        const issued = home && !isHome ? await issue(home, origin, options) : null
        const { remotePassword, password: ofHome } = credentials
        const isOld = !issued || (credentials.isListed && !issued.provisioned)
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
      }),
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

type FederatedIdentity = Omit<Registration, 'password' | 'inviteToken'> & { homeInstance: string }

/** `currentHost`: the default home. Spec: Registration 2. */
function federatedIdentityOf(user: User, currentHost: string): FederatedIdentity {
  const homeInstance = normalizeHost(user.homeInstance ?? currentHost)
  return {
    username: `${baseUsername(user.username)}@${homeInstance}`,
    homeInstance,
    homeUserId: user.homeInstance ? user.homeUserId : user.id,
    ...(user.displayName ? { displayName: user.displayName } : {}),
    ...(user.avatarColor ? { avatarColor: user.avatarColor } : {}),
  }
}

/**
 * Registers with the first password. Logs in with each after a 409 or the text `already taken`: instances differ in the
 * status. Contract: 3, register. Also after a 403: closed registration does not exclude existing accounts. `knownUsername`: a
 * different name there. Returns the password that was taken. Spec: Registration 6 and 10; protocol.md 4.8.
 * Throws the API's errors.
 */
async function signInByIdentity(
  api: Caller,
  { username, ...identity }: FederatedIdentity,
  secrets: { passwords: readonly string[]; knownUsername: string | undefined; isRegistered: boolean },
  options: CallOptions,
): Promise<SignedIn & { password: string }> {
  const { passwords, knownUsername, isRegistered } = secrets
  const [first] = passwords
  if (first === undefined) throw new ApiError(401, 'Enter your password.')
  let refusal: unknown
  if (!isRegistered) {
    try {
      const signedIn = await register(api, { username, ...identity, password: first }, options)
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

/** With a proof of work where the instance asks for one. Contract: 3, Proof of work. */
async function register(api: Caller, body: Registration, options: CallOptions): Promise<SignedIn> {
  // An account of another home waits for no approval.
  const send = async (proof?: string) =>
    (await api.call('register', { body: { ...body, ...(proof && { proof }) }, ...options })) as SignedIn
  try {
    return await send()
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'proof_required') throw error
    const { solveProof } = await import('../proof/index.ts')
    return await send(await solveProof(api, options))
  }
}
