import type { OwnedSpace } from './records.ts'

/** An error response. `fields` holds what its body has beside `error` and `statusCode`. Contract: 1. */
export class ApiError extends Error {
  override readonly name: string = 'ApiError'
  readonly status: number
  readonly fields: Readonly<Record<string, unknown>>
  readonly requestId: string | null

  constructor(status: number, message: string, fields: Record<string, unknown> = {}, requestId: string | null = null) {
    super(message)
    this.status = status
    this.fields = fields
    this.requestId = requestId
  }
}

/** Too many requests: try again in `retryAfter` seconds. Spec: Errors. Contract: 1. */
export class RateLimited extends ApiError {
  override readonly name: string = 'RateLimited'
  readonly retryAfter: number

  constructor(retryAfter: number, message: string, fields?: Record<string, unknown>, requestId?: string | null) {
    super(429, message, fields, requestId)
    this.retryAfter = retryAfter
  }
}

/** No response: offline, refused, blocked, or timed out. `origin` is the instance that was called. */
export class NetworkFailure extends Error {
  override readonly name: string = 'NetworkFailure'
  readonly origin: string
  readonly timedOut: boolean

  constructor(origin: string, timedOut: boolean, cause?: unknown) {
    super(timedOut ? `${origin} did not answer in time` : `${origin} could not be reached`, { cause })
    this.origin = origin
    this.timedOut = timedOut
  }
}

/** Whether the caller's own AbortSignal ended the call: there is nothing to show then. */
export function isAborted(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}

/** The owned spaces that prevent a deletion, as the server names them; empty when that is not the reason. */
export function listOwnedSpaces(error: unknown): OwnedSpace[] {
  const spaces = error instanceof ApiError ? error.fields['ownedSpaces'] : undefined
  return Array.isArray(spaces) ? (spaces as OwnedSpace[]) : []
}
