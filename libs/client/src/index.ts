/** Start with `createBrowserClient()`. Every part is a Store for React's useSyncExternalStore. */
export { avatarColors, parseFederatedUsername } from '@gatehouse/contracts/constants'

export { createBrowserClient } from './browser.ts'
export { createClient, type Client, type ClientOptions, type LogInStep } from './client.ts'
export { createApi, type Api, type ApiOptions, type Call, type CallOptions } from './api/api.ts'
export * from './api/errors.ts'
export type * from './api/records.ts'
export { createCountdown, type Countdown } from './countdown.ts'
export type { Session, SessionEnd, SessionEndReason, SessionState, UserScopedStores } from './session/session.ts'
export type { RegistrationInput, RegistrationOutcome } from './registration/registration-flow.ts'

export type { Connections } from './connections/connections.ts'
export { originOfAddress, type PasswordSync, type RemoteInstance, type RemoteState } from './connections/remotes.ts'
export type { PasswordPropagation } from './connections/password-propagation.ts'
export type { AccountDeletion } from './connections/account-deletion.ts'

export type { LiveConnection, LiveState } from './live/live-connection.ts'
export { isPresenceUpdate, isReady, isSecurityNotice } from './live/frames.ts'
export type { AdminChange, AnyLive, LiveTypes, OtherEvent, OwnEvents, PresenceUpdate } from './live/frames.ts'
export type { ReadyEvent, SecurityNotice, ServerEvent } from './live/frames.ts'

export { canonicalUserMatch, type Identity, type KnownUser, type SelfIds } from './identity/identity.ts'
export type { Store } from './store.ts'
export { memoryStorage } from './platform.ts'
export type { ClientClock, Fetch, Jitter, KeyValueStorage, OpenSocket, RunAlone, Socket } from './platform.ts'
export type { WatchActivity, WatchStorage } from './platform.ts'
