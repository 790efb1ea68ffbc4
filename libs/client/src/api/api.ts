import { endpointTable, type EndpointRow } from '@gatehouse/contracts/endpoints'
import type { ClientClock, Fetch, Jitter } from '../platform.ts'
import { reconnectDelayMs } from '../wait.ts'
import { ApiError, NetworkFailure, RateLimited } from './errors.ts'
import type { Availability, Endpoints, Upload } from './records.ts'

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

type AnyInput = CallOptions & { params?: Record<string, string>; query?: object | undefined; body?: object }
type PlainInit = Omit<RequestInit, 'headers'> & { headers: Record<string, string> }

export type Api = ReturnType<typeof createApi>

const responseTimeoutMs = 30_000
const uploadTimeoutMs = 120_000
const repetitions = 2

/** All throw RateLimited, ApiError, NetworkFailure (also after 30 s, 120 s for uploads) or AbortError. Contract: 1. */
export function createApi(options: ApiOptions) {
  const { origin } = options
  const perform = async (path: string, init: PlainInit, token: string | null | undefined, isUnread = false) => {
    const headers = { ...init.headers, ...(token && { authorization: `Bearer ${token}` }) }
    const { response, body } = await send(options, origin + path, { ...init, headers }, isUnread)
    // An upstream may refuse for reasons of its own.
    const isOfToken = !isUnread || (isRecord(body) && /token|account/.test(String(body['code'])))
    if (token && response.status === 401 && isOfToken) options.onTokenRefused?.(token)
    return readReply(response, body)
  }
  const call: Call = async (name, ...[input]) => {
    if (!Object.hasOwn(endpointTable, name)) throw new TypeError(`There is no endpoint ${name}`)
    const { method, path, access }: EndpointRow = endpointTable[name]
    const { params, query = {}, signal = null, body = method === 'POST' ? {} : undefined } = (input ?? {}) as AnyInput
    const isJson = body !== undefined && !(body instanceof FormData)
    const init = {
      method,
      headers: { accept: 'application/json', ...(isJson && { 'content-type': 'application/json' }) },
      body: isJson ? JSON.stringify(body) : (body ?? null),
      signal,
    }
    const address = fillPath(path, params) + queryText(query)
    return (await perform(address, init, access === 'anyone' ? null : options.token?.())) as never
  }
  const read = async (path: string, init: RequestInit, attempt: number): Promise<Response> => {
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
      return await read(path, init, attempt + 1)
    }
  }
  return {
    origin,
    /** `call('getUser', { params: { id } })` */
    call,
    /**
     * A path of this instance, such as an upstream's: with the token, and refusals thrown as by `call`. Reads (GET, HEAD) are
     * repeated twice where no answer came or a server was away.
     */
    fetch: (path: `/${string}`, init: RequestInit = {}) => read(path, init, 0),
    /** Returns a refusal with a reason, such as closed registration. */
    checkUsername: async (username: string, { signal }: CallOptions = {}): Promise<Availability> => {
      try {
        return await call('checkUsername', { query: { username }, signal })
      } catch (error) {
        const reason = error instanceof ApiError && error.fields['available'] === false && error.fields['reason']
        if (typeof reason !== 'string') throw error
        return { available: false, reason }
      }
    },
    /** At most 8 MiB. */
    upload: (file: Blob, { signal }: CallOptions = {}): Promise<Upload> => {
      const body = new FormData()
      body.append('file', file)
      return call('upload', { body, signal })
    },
    uploadUrl: <T extends string | null>(filename: T) =>
      (filename === null ? null : origin + fillPath(endpointTable.getUpload.path, { filename })) as T,
  }
}

function fillPath(path: string, params: Readonly<Record<string, string>> = {}): string {
  return path.replace(/:(\w+)/g, (_, parameter: string) => encodeURIComponent(params[parameter] ?? ''))
}

function queryText(query: object): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  return given.length ? `?${new URLSearchParams(given as [string, string][])}` : ''
}

/** The timeout and the signal include reading the body. */
async function send({ clock, origin, fetch }: ApiOptions, url: string, request: RequestInit, isUnread: boolean) {
  const timeout = new AbortController()
  const limitMs = request.body instanceof FormData ? uploadTimeoutMs : responseTimeoutMs
  const timer = clock.setTimeout(() => timeout.abort(), limitMs)
  const signal = request.signal ? AbortSignal.any([request.signal, timeout.signal]) : timeout.signal
  try {
    const response = await fetch(url, { ...request, signal, credentials: 'omit' })
    return { response, body: isUnread && response.ok ? response : parseJson(await response.text()) }
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

function readReply({ status, headers }: Response, body: unknown): unknown {
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
