export { InvalidCaller, KeysUnavailable, createCallerVerifier } from './caller/caller-verifier.ts'
export type { Caller, CallerVerifier, VerifierOptions } from './caller/caller-verifier.ts'
export { AskRefused, createUpstreamClient } from './asks/upstream-client.ts'
export type { Account, AccountChanges, UpstreamClient, UpstreamClientOptions } from './asks/upstream-client.ts'
export { MessageRefused, connectUpstream } from './live/connect-upstream.ts'
export type {
  Audience,
  DeliveryOptions,
  LiveMessage,
  OwnedSpace,
  QuestionName,
  SocketCaller,
  SocketMessage,
  UpstreamConnection,
  UpstreamOptions,
} from './live/connect-upstream.ts'
export type { EventName } from './live/event-names.ts'
export type { EventHandler, UpstreamEvent } from './live/event-subscription.ts'
