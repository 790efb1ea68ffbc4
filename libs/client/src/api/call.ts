import { endpointTable, type EndpointRow } from '@gatehouse/contracts/endpoints'
import { ApiError, NetworkFailure, RateLimited } from './errors.ts'
import type { ClientClock, Fetch } from '../platform.ts'
import type { Endpoints } from './records.ts'

export type CallOptions = { signal?: AbortSignal | undefined }

export type ApiOptions = {
  origin: string
  fetch: Fetch
  clock: ClientClock
  token?: () => string | null
  onTokenRefused?: (token: string) => void
}

type CallInput<Input> = object extends Input ? [input?: Input & CallOptions] : [input: Input & CallOptions]

export type Call = <N extends keyof Endpoints>(
  name: N,
  ...input: CallInput<Endpoints[N]['input']>
) => Promise<Endpoints[N]['reply']>

/** `extend` restarts the timeout, for responses in parts. */
export type ReadBody = (response: Response, extend: () => void) => Promise<unknown>

type AnyInput = CallOptions & {
  params?: Record<string, string> | undefined
  query?: object | undefined
  body?: object | undefined
  read?: ReadBody
}
type HttpResponse = { status: number; headers: Headers; body: unknown }

const responseTimeoutMs = 30_000
const uploadTimeoutMs = 120_000

/** Throws RateLimited, ApiError, NetworkFailure (also after 30 s, 120 s for uploads) or AbortError. Contract: 1. */
export function createCall(options: ApiOptions): (name: string, input: AnyInput) => Promise<unknown> {
  return async (name, input) => {
    if (!Object.hasOwn(endpointTable, name)) throw new TypeError(`There is no endpoint ${name}`)
    const { method, path, access }: EndpointRow = endpointTable[name as keyof typeof endpointTable]
    const { params, query = {}, signal = null, read, body = method === 'POST' ? {} : undefined } = input
    const token = access === 'anyone' ? null : (options.token?.() ?? null)
    const isJson = body !== undefined && !(body instanceof FormData)
    const request = {
      method,
      headers: {
        accept: 'application/json',
        ...(isJson ? { 'content-type': 'application/json' } : {}),
        ...(token ? { authorization: `Bearer ${token}` } : {}),
      },
      body: isJson ? JSON.stringify(body) : (body ?? null),
      signal,
    }
    const response = await send(options, options.origin + fillPath(path, params) + queryText(query), request, read)
    if (response.status === 401 && token) options.onTokenRefused?.(token)
    return readReply(response)
  }
}

export function fillPath(path: string, params: Readonly<Record<string, string>> = {}): string {
  return path.replace(/:(\w+)/g, (_, parameter: string) => encodeURIComponent(params[parameter] ?? ''))
}

function queryText(query: object): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  return given.length ? `?${new URLSearchParams(given as [string, string][])}` : ''
}

/** The timeout and the signal include reading the body. */
async function send(
  { clock, origin, fetch }: ApiOptions,
  url: string,
  request: RequestInit,
  read?: ReadBody,
): Promise<HttpResponse> {
  const timeout = new AbortController()
  let timer: unknown
  const extend = () => {
    clock.clearTimeout(timer)
    timer = clock.setTimeout(
      () => timeout.abort(),
      request.body instanceof FormData ? uploadTimeoutMs : responseTimeoutMs,
    )
  }
  extend()
  const signal = request.signal ? AbortSignal.any([request.signal, timeout.signal]) : timeout.signal
  try {
    const response = await fetch(url, { ...request, signal, credentials: 'omit' })
    const body = read && response.ok ? await read(response, extend) : parseJson(await response.text())
    return { status: response.status, headers: response.headers, body }
  } catch (error) {
    if (request.signal?.aborted) throw new DOMException('The call was aborted', 'AbortError')
    throw new NetworkFailure(origin, timeout.signal.aborted, error)
  } finally {
    clock.clearTimeout(timer)
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function readReply({ status, headers, body }: HttpResponse): unknown {
  const requestId = headers.get('x-request-id')
  if (status >= 200 && status < 300) {
    if (body !== undefined) return body
    throw new ApiError(status, 'The server gave an answer that could not be read', {}, requestId)
  }
  const { error, statusCode: _, ...fields } = isRecord(body) ? body : {}
  const message = typeof error === 'string' && error ? error : `The server answered with status ${status}`
  if (status !== 429) throw new ApiError(status, message, fields, requestId)
  throw new RateLimited(retrySeconds(headers, fields['retryAfter']), message, fields, requestId)
}

/** Body first, then header, else a minute. */
function retrySeconds(headers: Headers, inBody: unknown): number {
  const header = headers.get('retry-after')
  const seconds = Math.ceil(typeof inBody === 'number' ? inBody : Number(header ?? Number.NaN))
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : 60
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
