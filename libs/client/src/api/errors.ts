/** The server said no. `fields` holds whatever stands beside `error` and `statusCode`. Contract: 1. */
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

  constructor(
    retryAfter: number,
    message: string,
    fields: Record<string, unknown> = {},
    requestId: string | null = null,
  ) {
    super(429, message, fields, requestId)
    this.retryAfter = retryAfter
  }
}

/** No answer came: offline, refused, blocked, or the deadline passed. `origin` is the instance that was asked. */
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

/** Whether the caller's own AbortSignal ended the call: nothing to show to anyone. */
export function isAborted(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}

export type OwnedSpace = { id: string; name: string }

/** The spaces that stand in the way of a deletion, named by the server; empty when that is not the reason. */
export function listOwnedSpaces(error: unknown): OwnedSpace[] {
  const spaces = error instanceof ApiError ? error.fields['ownedSpaces'] : undefined
  return Array.isArray(spaces) ? (spaces as OwnedSpace[]) : []
}
