import type { ClientClock, Fetch } from '../platform.ts'

/** What the caller of a single call may set. */
export type CallOptions = { signal?: AbortSignal | undefined }

export type ApiOptions = {
  /** The instance that is called, for example `https://chat.example`. */
  origin: string
  fetch: Fetch
  clock: ClientClock
  /** The current bearer token, or null. */
  token?: () => string | null
  /** Called with a token that the instance no longer accepts. */
  onTokenRefused?: (token: string) => void
}
