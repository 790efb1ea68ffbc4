import type { ClientClock, Fetch } from '../ports.ts'
import { ApiError, NetworkFailure, RateLimited } from './errors.ts'

/** What a single call may be given. */
export type CallOptions = { signal?: AbortSignal | undefined }

export type RequestOptions = {
  /** The instance to ask, for example `https://chat.example`. */
  origin: string
  fetch: Fetch
  clock: ClientClock
  /** The bearer token of the moment, or null. */
  token?: () => string | null
  /** Hears of a token that the instance no longer accepts. */
  onTokenRefused?: (token: string) => void
}

export type Call = CallOptions & {
  query?: Record<string, string | number | boolean | undefined>
  json?: object
  form?: FormData
  /** Sends no token even when there is one. */
  anonymous?: boolean
}

export type Request = <T>(method: string, path: string, call?: Call) => Promise<T>

const answerDeadlineMs = 30_000
const uploadDeadlineMs = 120_000

/**
 * Makes the function that sends requests to one instance. Throws RateLimited, ApiError, NetworkFailure (also when no
 * answer comes in 30 s, for uploads 120 s), or an AbortError when the caller's signal fires. Contract: 1.
 */
export function createRequest(options: RequestOptions): Request {
  return async <T>(method: string, path: string, call: Call = {}) => {
    const token = call.anonymous ? null : (options.token?.() ?? null)
    const answer = await exchange(options, `${options.origin}${path}${queryText(call.query)}`, {
      method,
      headers: headersFor(call, token),
      body: call.form ?? (call.json ? JSON.stringify(call.json) : null),
      signal: call.signal ?? null,
    })
    if (answer.status >= 200 && answer.status < 300) return readSuccess<T>(answer)
    if (answer.status === 401 && token) options.onTokenRefused?.(token)
    throw errorFrom(answer)
  }
}

type Answer = { status: number; headers: Headers; body: unknown }

/** One request and its whole answer: the deadline and the caller's signal hold until the body has been read. */
async function exchange(options: RequestOptions, url: string, init: RequestInit): Promise<Answer> {
  const { clock, origin } = options
  const ending = new AbortController()
  const follow = () => ending.abort(init.signal?.reason)
  if (init.signal?.aborted) follow()
  init.signal?.addEventListener('abort', follow)
  let timedOut = false
  const deadline = clock.setTimeout(
    () => {
      timedOut = true
      ending.abort()
    },
    init.body instanceof FormData ? uploadDeadlineMs : answerDeadlineMs,
  )
  try {
    const response = await options.fetch(url, { ...init, signal: ending.signal, credentials: 'omit' })
    return { status: response.status, headers: response.headers, body: parseJson(await response.text()) }
  } catch (error) {
    if (init.signal?.aborted) throw abortError(error)
    throw new NetworkFailure(origin, timedOut, error)
  } finally {
    clock.clearTimeout(deadline)
    init.signal?.removeEventListener('abort', follow)
  }
}

function headersFor(call: Call, token: string | null): Record<string, string> {
  return {
    accept: 'application/json',
    ...(call.json ? { 'content-type': 'application/json' } : {}),
    ...(token ? { authorization: `Bearer ${token}` } : {}),
  }
}

function queryText(query: Call['query'] = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  return given.length ? `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}` : ''
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function readSuccess<T>(answer: Answer): T {
  if (answer.body !== undefined) return answer.body as T
  throw new ApiError(answer.status, 'The server gave an answer that could not be read', {}, requestIdOf(answer))
}

function errorFrom(answer: Answer): ApiError {
  const { error, statusCode: _, ...fields } = isRecord(answer.body) ? answer.body : {}
  const message = typeof error === 'string' && error ? error : `The server answered with status ${answer.status}`
  if (answer.status !== 429) return new ApiError(answer.status, message, fields, requestIdOf(answer))
  return new RateLimited(retrySeconds(answer, fields['retryAfter']), message, fields, requestIdOf(answer))
}

/** The body's number, else the header's, else a cautious minute. */
function retrySeconds(answer: Answer, inBody: unknown): number {
  const header = answer.headers.get('retry-after')
  const seconds = Math.ceil(typeof inBody === 'number' ? inBody : Number(header ?? Number.NaN))
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : 60
}

function requestIdOf(answer: Answer): string | null {
  return answer.headers.get('x-request-id')
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function abortError(error: unknown): Error {
  if (error instanceof Error && error.name === 'AbortError') return error
  return new DOMException('The call was aborted', 'AbortError')
}
