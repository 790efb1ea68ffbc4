import type { Api } from './api/api.ts'
import type { CallOptions } from './api/options.ts'
import type {
  Credentials,
  IdentityDeletionRequest,
  IdentityDeletions,
  PasswordUpdate,
  ProfileChange,
  User,
} from './api/records.ts'
import type { AccountDeletion } from './connections/account-deletion.ts'
import type { Connections } from './connections/connections.ts'
import type { PasswordPropagation } from './connections/password-propagation.ts'
import type { Countdown } from './countdown.ts'
import type { Identity } from './identity/identity.ts'
import type { LiveConnection } from './live/live-connection.ts'
import type { ClientClock, Fetch, Jitter, KeyValueStorage, OpenSocket, WatchStorage } from './platform.ts'
import type { AvailabilityCheck } from './registration/availability-check.ts'
import type { RegistrationInput, RegistrationOutcome } from './registration/registration-flow.ts'
import type { Session } from './session/session.ts'
import type { UserScopedStores } from './session/user-scoped-stores.ts'

export type ClientOptions = {
  /** The instance this client belongs to, for example `https://chat.example`. */
  origin: string
  storage: KeyValueStorage
  fetch: Fetch
  openSocket: OpenSocket
  clock: ClientClock
  jitter: Jitter
  /** Without it, tabs do not share log-in, log-out and password changes. */
  watchStorage?: WatchStorage
}

export type Client = {
  /** All endpoints of the own instance, called with the session's token. */
  api: Api
  /** Store of `{ token, user, ended, loading }`. Run `session.loadUser()` once at start. */
  session: Session
  /** Store of the other instances: token, user, state, pending password sync. */
  connections: Connections
  passwordPropagation: PasswordPropagation
  /** Store of the WebSocket to the own instance: state, presences. Opens and closes with the session. */
  live: LiveConnection
  /** Stores registered here are reset with each session: `userScopedStores.register({ reset })`. */
  userScopedStores: UserScopedStores
  /** isSelf and resolveDisplayIdentity with this client's host, and the self ids. */
  identity: Identity

  /** Logs in, starts the session and connects to the other instances without waiting. */
  logIn(credentials: Credentials, options?: CallOptions): Promise<User>
  /** Ends the session here and in the other tabs. */
  logOut(): void
  /** Counts the seconds of a rate limit down: `start(error.retryAfter)`. */
  createCountdown(): Countdown
  /** The debounced username check of the first registration step; one for each form. */
  createAvailabilityCheck(): AvailabilityCheck
  /** The whole registration flow; navigate when it resolves. A failed avatar upload does not reject. */
  register(input: RegistrationInput, options?: CallOptions): Promise<RegistrationOutcome>
  /** Changes the profile, and the session's user with it. */
  updateProfile(change: ProfileChange, options?: CallOptions): Promise<User>
  /** Changes the password, keeps the session, and propagates the password in the background. */
  changePassword(passwords: PasswordUpdate, options?: CallOptions): Promise<void>
  /** Ends all other sessions and closes all sockets; this session goes on. A federated account needs no password. */
  endSessions(password?: string, options?: CallOptions): Promise<void>
  /** Deletes the identity on the connected instances, then the account on the own instance, and ends the session. */
  deleteAccount(credentials: Credentials, options?: CallOptions): Promise<AccountDeletion>
  /** Lets the own instance delete the user's identities on others; removes the deleted ones from the connections. */
  deleteFederationIdentities(request: IdentityDeletionRequest, options?: CallOptions): Promise<IdentityDeletions>
  /** Closes sockets, cancels timers and removes listeners; the stored session stays. */
  close(): void
}
