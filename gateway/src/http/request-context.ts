import { channel } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { toErrorResponse, type Span } from '@gatehouse/runtime'
import type { Deps } from '../deps.ts'
import { apiContentPolicy, type HeaderList } from './response-headers.ts'

/** service-kit writes to the same channel. */
const answered = channel('gatehouse:refusal')

type ContextDeps = Pick<Deps, 'log' | 'tracing' | 'responseHeaders' | 'gatewayMetrics' | 'accessLog'>

export const clientClosedRequest = 499

export class RequestContext {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  /** Normalized. `search` is empty or starts with `?`. */
  path = ''
  search = ''
  clientAddress = ''
  network = ''
  /** The account of a live token. */
  userId: string | undefined
  /** The route as the contract writes it. */
  route = 'none'
  rateLimitHeaders: HeaderList | undefined
  /** Aborted when the client closes the connection early. */
  upstream: { abort(): void } | undefined
  /** Called once, when the response has been written or the client has left. */
  release: (() => void) | undefined
  /** Set where traces are exported. A client's trace headers are not trusted. */
  readonly span: Span | undefined
  readonly #deps: ContextDeps
  readonly #started: number

  constructor(deps: ContextDeps, parts: { request: IncomingMessage; response: ServerResponse; requestId: string }) {
    this.#deps = deps
    this.request = parts.request
    this.response = parts.response
    this.requestId = parts.requestId
    this.#started = performance.now()
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
    // A client that left is counted as 499.
    if (this.response.destroyed && (!fault || isConnectionError(error))) {
      this.#deps.log.debug({ requestId: this.requestId, err: error, route: this.route }, 'client closed the connection')
      return
    }
    if (fault) this.#deps.log.error({ requestId: this.requestId, err: error, route: this.route }, 'request failed')
    if (this.response.headersSent) return void this.response.destroy()
    answered.publish({ route: this.route, code: refusal.code })
    if (refusal.status === 401) this.#deps.gatewayMetrics.authRejected(refusal.code)
    const text = JSON.stringify(refusal.body)
    const headers = [
      'Content-Type',
      'application/json; charset=utf-8',
      'Content-Length',
      String(Buffer.byteLength(text)),
    ]
    headers.push('Cache-Control', 'no-store', 'Content-Security-Policy', apiContentPolicy)
    for (const [name, value] of Object.entries(refusal.headers)) headers.push(name, value)
    if (refusal.status === 401) headers.push('WWW-Authenticate', 'Bearer')
    if (hasUnreadBody(this.request)) headers.push('Connection', 'close')
    this.response.writeHead(refusal.status, this.withApiHeaders(headers))
    this.response.end(text)
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
