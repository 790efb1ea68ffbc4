import { endpointTable, type EndpointRow } from '@gatehouse/contracts/endpoints'
import { ApiError, NetworkFailure, RateLimited } from './errors.ts'
import type { ClientClock, Fetch, Jitter } from '../platform.ts'
import { reconnectDelayMs } from '../wait.ts'
import type { Endpoints } from './records.ts'

export type CallOptions = { signal?: AbortSignal | undefined }

export type ApiOptions = {
  origin: string
  fetch: Fetch
  clock: ClientClock
  jitter: Jitter
  token?: () => string | null
  onTokenRefused?: (token: string) => void
}

type CallInput<Input> = object extends Input ? [input?: Input & CallOptions] : [input: Input & CallOptions]

export type Call = <N extends keyof Endpoints>(
  name: N,
  ...input: CallInput<Endpoints[N]['input']>
) => Promise<Endpoints[N]['reply']>

type AnyInput = CallOptions & {
  params?: Record<string, string> | undefined
  query?: object | undefined
  body?: object | undefined
}
type PlainInit = Omit<RequestInit, 'headers'> & { headers: Record<string, string> }
type HttpResponse = { status: number; headers: Headers; body: unknown }

const responseTimeoutMs = 30_000
const uploadTimeoutMs = 120_000

const repetitions = 2

/** Both throw RateLimited, ApiError, NetworkFailure (also after 30 s, 120 s for uploads) or AbortError. Contract: 1. */
export function createCall(options: ApiOptions) {
  const perform = async (path: string, init: PlainInit, token: string | null | undefined, isUnread = false) => {
    const headers = { ...init.headers, ...(token && { authorization: `Bearer ${token}` }) }
    const response = await send(options, options.origin + path, { ...init, headers }, isUnread)
    const { status, body } = response
    // An upstream may refuse for reasons of its own.
    const isOfToken = !isUnread || (isRecord(body) && /token|account/.test(String(body['code'])))
    if (token && status === 401 && isOfToken) options.onTokenRefused?.(token)
    return readReply(response)
  }
  const sendCall = async (name: string, input: AnyInput): Promise<unknown> => {
    if (!Object.hasOwn(endpointTable, name)) throw new TypeError(`There is no endpoint ${name}`)
    const { method, path, access }: EndpointRow = endpointTable[name as keyof typeof endpointTable]
    const { params, query = {}, signal = null, body = method === 'POST' ? {} : undefined } = input
    const isJson = body !== undefined && !(body instanceof FormData)
    const init = {
      method,
      headers: { accept: 'application/json', ...(isJson && { 'content-type': 'application/json' }) },
      body: isJson ? JSON.stringify(body) : (body ?? null),
      signal,
    }
    return await perform(
      fillPath(path, params) + queryText(query),
      init,
      access === 'anyone' ? null : options.token?.(),
    )
  }
  const fetch = async (path: string, init: RequestInit = {}, attempt = 0): Promise<Response> => {
    // The token goes to no other origin.
    if (!path.startsWith('/')) throw new TypeError('A path begins with /')
    try {
      const headers = Object.fromEntries(new Headers(init.headers).entries())
      return (await perform(path, { ...init, headers }, options.token?.(), true)) as Response
    } catch (error) {
      const isAway = error instanceof ApiError ? /50[234]/.test(String(error.status)) : error instanceof NetworkFailure
      if (!isAway || attempt === repetitions || !/^(GET|HEAD)$/.test(init.method ?? 'GET')) throw error
      await new Promise((after) =>
        options.clock.setTimeout(() => after(0), reconnectDelayMs(attempt, options.jitter())),
      )
      return await fetch(path, init, attempt + 1)
    }
  }
  return { send: sendCall, fetch }
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
  isUnread = false,
): Promise<HttpResponse> {
  const timeout = new AbortController()
  const limitMs = request.body instanceof FormData ? uploadTimeoutMs : responseTimeoutMs
  const timer = clock.setTimeout(() => timeout.abort(), limitMs)
  const signal = request.signal ? AbortSignal.any([request.signal, timeout.signal]) : timeout.signal
  try {
    const response = await fetch(url, { ...request, signal, credentials: 'omit' })
    const body = isUnread && response.ok ? response : parseJson(await response.text())
    return { status: response.status, headers: response.headers, body }
  } catch (error) {
    if (request.signal?.aborted) throw new DOMException('Aborted', 'AbortError')
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
    throw new ApiError(status, 'The answer is no JSON', {}, requestId)
  }
  const { error, statusCode: _, ...fields } = isRecord(body) ? body : {}
  const message = typeof error === 'string' && error ? error : `The answer is a ${status}`
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
