import { endpointTable, type EndpointRow } from '@gatehouse/contracts/endpoints'
import type { ClientClock, Fetch, Jitter } from '../platform.ts'
import { anySignal, reconnectDelayMs } from '../wait.ts'
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

type FieldOf<Reply> = Reply extends unknown ? keyof Reply & string : never

/** A field that the reply has, where the library reads one: without it the answer is a foreign one. */
const replyFields: { readonly [N in keyof Endpoints]?: FieldOf<Endpoints[N]['reply']> } = {
  register: 'token',
  login: 'token',
  recover: 'token',
  logInByPasskey: 'token',
  changePassword: 'token',
  endSessions: 'token',
  renewToken: 'token',
  getSelf: 'id',
  patchSelf: 'id',
  verifyPassword: 'valid',
  deleteSelf: 'success',
  deleteFederationIdentity: 'results',
  federationCredential: 'secret',
  checkUsername: 'available',
  upload: 'filename',
}

/**
 * All throw RateLimited, ApiError, NetworkFailure (also after 30 s, 120 s for uploads, and for foreign answers) or
 * AbortError. Contract: 1, errors, foreign answers.
 */
// eslint-disable-next-line max-lines-per-function -- one call for each group of endpoints
export function createApi(options: ApiOptions) {
  const { origin } = options
  /** Without a name the answer is an upstream's, which may have a form of its own. */
  const perform = async (path: string, init: PlainInit, name?: keyof Endpoints, isOpen = false) => {
    const token = isOpen ? null : options.token?.()
    const headers = { ...init.headers, ...(token && { authorization: `Bearer ${token}` }) }
    const answer = await send(options, origin + path, { ...init, headers }, name)
    const isOwn = isOfInstance(answer, name)
    const { response, body } = answer
    if (isOwn && response.ok) return body ?? response
    const refusal = readRefusal(answer)
    if (name && !isOwn) throw new NetworkFailure(origin, false, refusal)
    // An upstream may refuse for reasons of its own.
    const isOfToken = name || /token|account/.test(refusal.code ?? '')
    if (token && isOwn && isOfToken && response.status === 401) options.onTokenRefused?.(token)
    throw refusal
  }
  const call: Call = async (name, ...[input]) => {
    const row = findRow(endpointTable, name) ?? findRow(await loadAdminEndpoints(origin), name)
    if (!row) throw new TypeError(`There is no endpoint ${name}`)
    const { method, path, access, readsToken } = row
    const { params, query = {}, signal = null, body = method === 'POST' ? {} : undefined } = (input ?? {}) as AnyInput
    const isJson = body !== undefined && !(body instanceof FormData)
    const init: PlainInit = {
      method,
      headers: { accept: 'application/json', ...(isJson && { 'content-type': 'application/json' }) },
      body: isJson ? JSON.stringify(body) : (body ?? null),
      signal,
      // No endpoint redirects: a proxy leads to its login page.
      redirect: 'error',
    }
    const isOpen = access === 'anyone' && !readsToken
    return (await perform(fillPath(path, params) + queryText(query), init, name, isOpen)) as never
  }
  const read = async (path: string, init: RequestInit, attempt: number): Promise<Response> => {
    // The token goes to no other origin.
    if (!path.startsWith('/')) throw new TypeError('A path must start with /')
    try {
      const headers = Object.fromEntries(new Headers(init.headers))
      return (await perform(path, { ...init, headers })) as Response
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
        if (!(error instanceof ApiError)) throw error
        const { available, reason } = error.fields
        if (available !== false || typeof reason !== 'string') throw error
        return { available, reason, ...(error.code !== null && { code: error.code }) }
      }
    },
    /** At most 8 MiB. `crop`: the square that the server keeps of it, as `left,top,side` in pixels of the upright picture. */
    upload: (file: Blob, { signal, crop }: CallOptions & { crop?: string | null } = {}): Promise<Upload> => {
      const body = new FormData()
      if (crop) body.append('crop', crop)
      body.append('file', file)
      return call('upload', { body, signal })
    },
    uploadUrl: <T extends string | null>(filename: T) =>
      (filename === null ? null : origin + fillPath(endpointTable.getUpload.path, { filename })) as T,
  }
}

/** Objects have names of their own, such as `constructor`. */
function findRow(table: Readonly<Record<string, EndpointRow>>, name: string): EndpointRow | null {
  const row = Object(table[name]) as Partial<EndpointRow>
  return row.path ? (row as EndpointRow) : null
}

/** With those for applications in a file of their own: a login page, and a chat, need none of them. */
async function loadAdminEndpoints(origin: string): Promise<Readonly<Record<string, EndpointRow>>> {
  try {
    return (await import('@gatehouse/contracts/admin-endpoints')).adminEndpoints
  } catch (error) {
    throw new NetworkFailure(origin, false, error)
  }
}

function fillPath(path: string, params: Readonly<Record<string, string>> = {}): string {
  return path.replace(/:(\w+)/g, (_, parameter: string) => encodeURIComponent(params[parameter] ?? ''))
}

function queryText(query: object): string {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined)
  return entries.length ? `?${new URLSearchParams(entries as [string, string][])}` : ''
}

type Answer = { response: Response; body: Record<string, unknown> | null }

/** The timeout and the signal include reading the body. The body is null where it is no JSON object or left unread. */
async function send(
  { clock, origin, fetch }: ApiOptions,
  url: string,
  request: RequestInit,
  name?: keyof Endpoints,
): Promise<Answer> {
  const timeout = new AbortController()
  const limitMs = request.body instanceof FormData ? uploadTimeoutMs : responseTimeoutMs
  const timer = clock.setTimeout(() => timeout.abort(), limitMs)
  const signal = anySignal(timeout.signal, request.signal)
  try {
    // The cookies that bind to this browser what a provider or an application asks. Contract: 3, Identity providers, Applications.
    const credentials = /^startP|Interaction$/.test(name ?? '') ? 'same-origin' : 'omit'
    const response = await fetch(url, { ...request, signal, credentials })
    const isUnread = response.ok && (!name || name === 'exportData')
    return { response, body: isUnread ? null : parseObject(await response.text()) }
  } catch (error) {
    if (request.signal?.aborted) throw new DOMException('Aborted', 'AbortError')
    throw new NetworkFailure(origin, timeout.signal.aborted, error)
  } finally {
    clock.clearTimeout(timer)
  }
}

function parseObject(text: string): Answer['body'] {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && !Array.isArray(value) ? (value as Answer['body']) : null
  } catch {
    return null
  }
}

/** False: the answer is a foreign one. A limit is waited for, also one that a proxy set. Contract: 1, Foreign answers. */
function isOfInstance({ response: { ok, status, headers }, body }: Answer, name?: keyof Endpoints): boolean {
  const { error, statusCode = status } = body ?? {}
  if (!ok) return status === 429 || (typeof error === 'string' && statusCode === status)
  if (!name) return true
  if (name === 'exportData') return headers.get('content-type') === 'application/zip'
  const field = replyFields[name]
  // A registration that waits for approval brings no token.
  return body !== null && (!field || field in body || (status === 202 && 'pending' in body))
}

function readRefusal({ response: { status, headers }, body }: Answer): ApiError {
  const requestId = headers.get('x-request-id')
  const { error, statusCode: _, ...fields } = body ?? {}
  const message = typeof error === 'string' && error ? error : `HTTP ${status}`
  if (status !== 429) return new ApiError(status, message, fields, requestId)
  return new RateLimited(retrySeconds(headers, fields['retryAfter']), message, fields, requestId)
}

/** Body first, then header, else a minute. A proxy may send months, so a day at most. */
function retrySeconds(headers: Headers, inBody: unknown): number {
  const seconds = Math.ceil(typeof inBody === 'number' ? inBody : Number(headers.get('retry-after') ?? -1))
  return seconds >= 0 ? Math.min(seconds, 86_400) : 60
}
