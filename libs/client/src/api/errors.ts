import type { OwnedSpace } from './records.ts'

export type InvalidInput = { field: string; reason: string; min?: number; max?: number }

/** `fields`: the body without `error` and `statusCode`. Contract: 1, errors. */
export class ApiError extends Error {
  override readonly name: string = 'ApiError'
  declare readonly status: number
  declare readonly fields: Readonly<Record<string, unknown>>
  declare readonly requestId: string | null

  constructor(status: number, message: string, fields: Record<string, unknown> = {}, requestId: string | null = null) {
    super(message)
    this.status = status
    this.fields = fields
    this.requestId = requestId
  }

  /** Null: the instance names none. */
  get code(): string | null {
    const { code } = this.fields
    return typeof code === 'string' ? code : null
  }

  get details(): InvalidInput | null {
    const details = this.fields['details'] as Partial<InvalidInput> | null | undefined
    return typeof details?.field === 'string' ? (details as InvalidInput) : null
  }
}

/** `retryAfter` in seconds. Spec: Errors. Contract: 1, rate limits. */
export class RateLimited extends ApiError {
  override readonly name: string = 'RateLimited'
  declare readonly retryAfter: number

  constructor(retryAfter: number, message: string, fields?: Record<string, unknown>, requestId?: string | null) {
    super(429, message, fields, requestId)
    this.retryAfter = retryAfter
  }
}

export class NetworkFailure extends Error {
  override readonly name: string = 'NetworkFailure'
  declare readonly origin: string
  declare readonly timedOut: boolean

  constructor(origin: string, timedOut: boolean, cause?: unknown) {
    super(timedOut ? `${origin} did not answer in time` : `${origin} could not be reached`, { cause })
    this.origin = origin
    this.timedOut = timedOut
  }
}

/** Of `live.send`. `code`: of the socket's error; `disconnected` and `no_answer` tell that the message may have arrived. */
export class LiveError extends Error {
  override readonly name = 'LiveError'
  declare readonly code: string

  constructor(code: string, message = code) {
    super(message)
    this.code = code
  }
}

/** True: there is nothing to show. */
export function isAborted(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}

/** Empty: another reason. */
export function listOwnedSpaces(error: unknown): OwnedSpace[] {
  const spaces = error instanceof ApiError ? error.fields['ownedSpaces'] : undefined
  return Array.isArray(spaces) ? (spaces as OwnedSpace[]) : []
}
