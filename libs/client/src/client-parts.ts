import type { Api } from './api/api.ts'
import type { CallOptions } from './api/request.ts'
import type { Credentials, DeletionMode, IdentityDeletions, ProfileChange, User } from './api/records.ts'
import type { AccountDeletion } from './connections/account-deletion.ts'
import type { Connections } from './connections/connections.ts'
import type { PasswordPropagation } from './connections/password-propagation.ts'
import type { Countdown } from './countdown.ts'
import type { Identity } from './identity/identity.ts'
import type { LiveConnection } from './live/live-connection.ts'
import type { ClientClock, Fetch, Jitter, KeyValueStorage, OpenSocket, WatchStorage } from './ports.ts'
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
  /** Without it, tabs do not follow each other. */
  watchStorage?: WatchStorage
}

export type Client = {
  /** All endpoints of the own instance, with the session's token. */
  api: Api
  /** Store of `{ token, user, ended, loading }`. Run `session.loadUser()` once at start. */
  session: Session
  /** Store of the other instances: token, user, state, pending password sync. */
  connections: Connections
  passwordPropagation: PasswordPropagation
  /** Store of the WebSocket to the own instance: state, presences. Follows the session by itself. */
  live: LiveConnection
  /** Put a store here to have it reset with each session: `userScopedStores.register({ reset })`. */
  userScopedStores: UserScopedStores
  /** isSelf, canonicalUserMatch, resolveDisplayIdentity with this client's host and self ids. */
  identity: Identity

  /** Logs in, starts the session and connects to the other instances without waiting. */
  logIn(credentials: Credentials, call?: CallOptions): Promise<User>
  /** Ends the session here; other tabs follow. */
  logOut(): void
  /** Counts a rate limit's seconds down: `start(error.retryAfter)`. */
  createCountdown(): Countdown
  /** The debounced, aborting username check of the first registration step; one for each form. */
  createAvailabilityCheck(): AvailabilityCheck
  /** The whole registration in its order; navigate when it resolves. The avatar's failure does not reject. */
  register(input: RegistrationInput, call?: CallOptions): Promise<RegistrationOutcome>
  /** Changes the profile and the session's user with it. */
  updateProfile(change: ProfileChange, call?: CallOptions): Promise<User>
  /** Changes the password here, keeps the session, and sends the new one to the connected instances in the background. */
  changePassword(passwords: { currentPassword?: string; newPassword: string }, call?: CallOptions): Promise<void>
  /** Deletes the identity on the connected instances, then the account here, then the session. */
  deleteAccount(proof: Credentials, call?: CallOptions): Promise<AccountDeletion>
  /** Has the home instance delete one's identities on other instances; successful ones leave the connections. */
  deleteFederationIdentities(
    input: { origins: string[]; mode: DeletionMode },
    call?: CallOptions,
  ): Promise<IdentityDeletions>
  /** Stops everything that runs (sockets, timers, watching); the stored session stays. */
  close(): void
}
