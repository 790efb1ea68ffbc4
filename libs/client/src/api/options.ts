import type { ClientClock, Fetch } from '../platform.ts'

export type CallOptions = { signal?: AbortSignal | undefined }

export type ApiOptions = {
  origin: string
  fetch: Fetch
  clock: ClientClock
  token?: () => string | null
  onTokenRefused?: (token: string) => void
}
