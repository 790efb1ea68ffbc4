import type { ClientEndpointName, EndpointInput, EndpointReply } from '@gatehouse/contracts'
import type { EndpointRow } from '@gatehouse/contracts/endpoints'
import { ApiError, NetworkFailure, RateLimited } from './errors.ts'
import type { ApiOptions, CallOptions } from './options.ts'

/** Calls an endpoint of the contract; its row says where, its schemas what is sent and answered. */
export type Call<Name extends ClientEndpointName = ClientEndpointName> = <N extends Name>(
  name: N,
  input: EndpointInput<N> & CallOptions,
) => Promise<EndpointReply<N>>

/**
 * Reads the body of a successful response that is no JSON; `extend` gives the response its whole time again, for what
 * comes in parts.
 */
export type ReadBody = (response: Response, extend: () => void) => Promise<unknown>

type AnyInput = CallOptions & {
  params?: Record<string, string>
  query?: Record<string, unknown>
  body?: object
  read?: ReadBody
}
type HttpResponse = { status: number; headers: Headers; body: unknown }

const responseTimeoutMs = 30_000
const uploadTimeoutMs = 120_000

/**
 * Makes the function that calls the endpoints in `rows` of one instance. Throws RateLimited, ApiError, NetworkFailure
 * (also when no response comes in 30 s, for uploads 120 s), or an AbortError when the caller's signal fires. Contract: 1.
 */
export function createCall<Name extends ClientEndpointName>(
  options: ApiOptions,
  rows: Record<Name, EndpointRow>,
): Call<Name> {
  return async <N extends Name>(name: N, input: EndpointInput<N> & CallOptions) => {
    const { method, path, access } = rows[name]
    const { params, query = {}, signal = null, read, body = method === 'POST' ? {} : undefined } = input as AnyInput
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
    return readReply(response) as EndpointReply<N>
  }
}

/** A path with its parameters filled in. */
export function fillPath(path: string, params: Readonly<Record<string, string>> = {}): string {
  return path.replace(/:(\w+)/g, (_, parameter: string) => encodeURIComponent(params[parameter] ?? ''))
}

function queryText(query: Record<string, unknown>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  return given.length ? `?${new URLSearchParams(given as [string, string][])}` : ''
}

/** One request and its whole response: the timeout and the caller's signal hold until the body has been read. */
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

/** Undefined for what is no JSON. */
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

/** The number in the body, else the one in the header, else a minute. */
function retrySeconds(headers: Headers, inBody: unknown): number {
  const header = headers.get('retry-after')
  const seconds = Math.ceil(typeof inBody === 'number' ? inBody : Number(header ?? Number.NaN))
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : 60
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
