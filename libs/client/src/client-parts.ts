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
  /** For example `https://chat.example`. */
  origin: string
  storage: KeyValueStorage
  fetch: Fetch
  openSocket: OpenSocket
  clock: ClientClock
  jitter: Jitter
  /** Without it, tabs do not share session changes. */
  watchStorage?: WatchStorage
}

export type Client = Api & {
  /** Run `session.loadUser()` once at start. */
  session: Session
  connections: Connections
  passwordPropagation: PasswordPropagation
  live: LiveConnection
  /** Each session resets them: `userScopedStores.register({ reset })`. */
  userScopedStores: UserScopedStores
  identity: Identity

  /** Does not wait for the other instances. */
  logIn(credentials: Credentials, options?: CallOptions): Promise<User>
  logOut(): void
  /** For rate limits: `start(error.retryAfter)`. */
  createCountdown(): Countdown
  /** Debounced. One for each form. */
  createAvailabilityCheck(): AvailabilityCheck
  /** Navigate when it resolves. A failed avatar upload does not reject. */
  register(input: RegistrationInput, options?: CallOptions): Promise<RegistrationOutcome>
  updateProfile(change: ProfileChange, options?: CallOptions): Promise<User>
  /** Propagates the password in the background. */
  changePassword(passwords: PasswordUpdate, options?: CallOptions): Promise<void>
  /** This session stays. A federated account needs no password. */
  endSessions(password?: string, options?: CallOptions): Promise<void>
  /** Deletes the identities on connected instances first. */
  deleteAccount(credentials: Credentials, options?: CallOptions): Promise<AccountDeletion>
  deleteFederationIdentities(request: IdentityDeletionRequest, options?: CallOptions): Promise<IdentityDeletions>
  close(): void
}
