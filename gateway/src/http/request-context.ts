import { channel } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { toErrorResponse, type Span } from '@gatehouse/runtime'
import type { Context, Log } from '@gatehouse/service-kit'
import type { GatewayMetrics } from '../metrics.ts'
import { apiContentPolicy, refusalHeaders, type HeaderList, type ResponseHeaders } from './headers.ts'

/** service-kit writes to the same channel. */
const refusalChannel = channel('gatehouse:refusal')

type ContextDeps = Pick<Context, 'log' | 'tracing'> & {
  responseHeaders: ResponseHeaders
  gatewayMetrics: GatewayMetrics
  accessLog: AccessLog
}

export const clientClosedRequest = 499

const contexts = new WeakMap<ServerResponse, RequestContext>()

/** Of the response to a request that a drain gives up. A pipelined one, which waits for its turn, is not sent. Contract: 1, statuses; 8, drain. */
export const lateHeadersOf = (response: ServerResponse): HeaderList => contexts.get(response)?.withApiHeaders([]) ?? []

export class RequestContext {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  /** Normalized. `search` is empty or starts with `?`. */
  path = ''
  search = ''
  clientAddress = ''
  network = ''
  userId: string | undefined
  route = 'none'
  rateLimitHeaders: HeaderList | undefined
  upstream: { abort(): void } | undefined
  /** Called once, when the response has been written or the client has left. */
  release: (() => void) | undefined
  /** Set where traces are exported. A client's trace headers are not trusted. */
  readonly span: Span | undefined
  readonly #deps: ContextDeps
  readonly #started = performance.now()

  constructor(deps: ContextDeps, parts: { request: IncomingMessage; response: ServerResponse; requestId: string }) {
    this.#deps = deps
    this.request = parts.request
    this.response = parts.response
    this.requestId = parts.requestId
    contexts.set(parts.response, this)
    this.span = deps.tracing?.startSpan(parts.request.method ?? '', 'server')
    this.response.on('close', () => this.#closed())
  }

  #closed(): void {
    this.release?.()
    const { writableFinished, statusCode } = this.response
    const seconds = (performance.now() - this.#started) / 1000
    const { requestId, route, userId, clientAddress } = this
    const status = writableFinished ? statusCode : clientClosedRequest
    this.#deps.gatewayMetrics.responseSent(route, status, seconds)
    this.#deps.accessLog({ requestId, method: this.request.method, route, status, seconds, userId, clientAddress })
    if (this.span) this.#endSpan(this.span, status)
    if (!writableFinished) this.upstream?.abort()
  }

  #endSpan(span: Span, status: number): void {
    const { requestId, route, userId, request } = this
    const { method = '' } = request
    span.rename(route.startsWith(`${method} `) ? route : `${method} ${route}`)
    span.set({ 'gatehouse.service': 'gateway', 'gatehouse.request_id': requestId, 'user.id': userId })
    span.set({ 'http.request.method': method, 'http.route': route, 'http.response.status_code': status })
    span.end(status >= 500 ? String(status) : undefined)
  }

  withApiHeaders(own: HeaderList): HeaderList {
    if (this.rateLimitHeaders) own.push(...this.rateLimitHeaders)
    own.push('X-Request-Id', this.requestId, ...this.#deps.responseHeaders.api)
    return own
  }

  withPageHeaders(own: HeaderList): HeaderList {
    own.push('X-Request-Id', this.requestId, ...this.#deps.responseHeaders.page)
    return own
  }

  /** A response that has begun is cut off, so that it does not look complete. */
  fail(error: unknown): void {
    const { refusal, fault } = toErrorResponse(error)
    const { requestId, route, request, response } = this
    // A client that left is counted as 499.
    if (response.destroyed && (!fault || isConnectionError(error))) {
      return this.#deps.log.debug({ requestId, err: error, route }, 'client closed the connection')
    }
    if (fault) this.#deps.log.error({ requestId, err: error, route }, 'request failed')
    if (response.headersSent) return void response.destroy()
    refusalChannel.publish({ route, code: refusal.code })
    const text = JSON.stringify(refusal.body)
    const headers = ['Content-Type', 'application/json; charset=utf-8']
    headers.push('Content-Length', String(Buffer.byteLength(text)), 'Cache-Control', 'no-store')
    headers.push('Content-Security-Policy', apiContentPolicy, ...refusalHeaders(refusal).flat())
    if (refusal.status === 401) {
      this.#deps.gatewayMetrics.authRejected(refusal.code)
      headers.push('WWW-Authenticate', 'Bearer')
    }
    if (hasUnreadBody(request)) headers.push('Connection', 'close')
    response.writeHead(refusal.status, this.withApiHeaders(headers)).end(text)
  }
}

function isConnectionError(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return code === 'ECONNRESET' || code === 'EPIPE' || code === 'ERR_STREAM_PREMATURE_CLOSE'
}

/** Such a connection cannot carry another request. */
export function hasUnreadBody(request: IncomingMessage): boolean {
  if (request.complete) return false
  return request.headers['transfer-encoding'] !== undefined || request.headers['content-length'] !== undefined
}

type Outcome = { method: string | undefined; status: number; seconds: number }

/** Never the path or the query, which may hold an invite token. */
type AccessEntry = Outcome & Pick<RequestContext, 'requestId' | 'route' | 'userId' | 'clientAddress'>

/** One entry for each request, with its id. Contract: 1, request ids. */
export type AccessLog = (entry: AccessEntry) => void

const frequentRoutes = new Set(['/api/health', 'web'])

/** Addresses are personal data. */
export function createAccessLog(log: Log, { logAddresses }: { logAddresses: boolean }): AccessLog {
  // Searching for secrets would cost eight times the line. These fields hold none.
  const lines = log.child({}, { redact: [] })
  return ({ requestId, method, route, status, seconds, userId, clientAddress }) => {
    const level = frequentRoutes.has(route) || method === 'OPTIONS' ? 'debug' : 'info'
    if (!lines.isLevelEnabled(level)) return
    const ms = Math.round(seconds * 10_000) / 10
    const address = logAddresses ? clientAddress : undefined
    lines[level]({ requestId, method, route, status, ms, userId, address }, 'request')
  }
}
