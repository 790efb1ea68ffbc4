/** Start with `createBrowserClient()`. Every part is a Store for React's useSyncExternalStore. */
export { avatarColors, parseFederatedUsername } from '@gatehouse/contracts/constants'

export { createBrowserClient } from './browser.ts'
export { createClient } from './client.ts'
export type { Client, ClientOptions } from './client-parts.ts'

export { createApi } from './api/api.ts'
export type { Api, ExportOptions } from './api/api.ts'
export type { Call } from './api/call.ts'
export type { ApiOptions, CallOptions } from './api/options.ts'
export { ApiError, NetworkFailure, RateLimited, isAborted, listOwnedSpaces } from './api/errors.ts'
export type { InvalidInput } from './api/errors.ts'
export type * from './api/records.ts'

export { createCountdown } from './countdown.ts'
export type { Countdown } from './countdown.ts'

export type { Session, SessionEnd, SessionEndReason, SessionState } from './session/session.ts'
export type { UserScopedStores } from './session/user-scoped-stores.ts'
export { guardRoute, isAuthPage, routes } from './session/route-guard.ts'
export type { RouteVerdict } from './session/route-guard.ts'
export { isSafeRedirect, safeRedirect } from './session/safe-redirect.ts'

export { findRegistrationProblems } from './registration/registration-checks.ts'
export type { RegistrationEntry, RegistrationProblems } from './registration/registration-checks.ts'
export type { AvailabilityCheck, AvailabilityState } from './registration/availability-check.ts'
export type { RegistrationInput, RegistrationOutcome } from './registration/registration-flow.ts'

export type { Connections } from './connections/connections.ts'
export type { PasswordSync, RemoteInstance, RemoteState } from './connections/remote-instance.ts'
export { originOfAddress } from './connections/remote-instance.ts'
export type { PasswordPropagation } from './connections/password-propagation.ts'
export type { AccountDeletion } from './connections/account-deletion.ts'

export type { LiveConnection, LiveState } from './live/live-connection.ts'
export { isPresenceUpdate, isReady } from './live/frames.ts'
export type { AdminChange, OtherEvent, PresenceUpdate, ReadyEvent, ServerEvent } from './live/frames.ts'

export { canonicalUserMatch } from './identity/identity.ts'
export type { Identity, SelfIds } from './identity/identity.ts'
export type { KnownUser } from './identity/known-user.ts'

export type { Store } from './store.ts'
export type { ClientClock, Fetch, Jitter, KeyValueStorage, OpenSocket, Socket, WatchStorage } from './platform.ts'
