import type { IncomingMessage, ServerResponse } from 'node:http'
import { toErrorResponse, type Span } from '@gatehouse/runtime'
import type { Deps } from '../deps.ts'
import { apiContentPolicy, type HeaderList } from './response-headers.ts'

type ContextDeps = Pick<Deps, 'log' | 'tracing' | 'responseHeaders' | 'gatewayMetrics' | 'accessLog'>

/** The status of a response whose client closed the connection first, in metrics and log. */
export const clientClosedRequest = 499

/** One request and its response, with what is known of them so far. */
export class RequestContext {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  /** The request's target, normalized: the path, and `?` with the query or nothing. */
  path = ''
  search = ''
  clientAddress = ''
  /** The network of that address, by which clients are limited. */
  network = ''
  /** The account whose live token came with the request. */
  userId: string | undefined
  /** The route as the contract writes it, for metrics and the access log. */
  route = 'none'
  /** `RateLimit-*`, for whatever response follows. */
  rateLimitHeaders: HeaderList | undefined
  /** The request to a service, which is aborted when the client closes the connection before the response has ended. */
  upstream: { abort(): void } | undefined
  /** Gives back what the request holds, when the response has been written or the client has closed the connection. */
  release: (() => void) | undefined
  /** Where traces are exported. The trace begins here: what a client says of one is not believed. */
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
    // Emitted once.
    this.response.on('close', () => this.#closed())
  }

  /** The response has been written, or the client has closed the connection. */
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

  /** Adds the headers of every API response to those of this one. */
  withApiHeaders(own: HeaderList): HeaderList {
    if (this.rateLimitHeaders) own.push(...this.rateLimitHeaders)
    own.push('X-Request-Id', this.requestId, ...this.#deps.responseHeaders.api)
    return own
  }

  /** Adds the headers of every response of the web app to those of this one. */
  withPageHeaders(own: HeaderList): HeaderList {
    own.push('X-Request-Id', this.requestId, ...this.#deps.responseHeaders.page)
    return own
  }

  /** Sends the response of a thrown value; one that has begun is cut off, so that it is not taken for complete. */
  fail(error: unknown): void {
    const { refusal, fault } = toErrorResponse(error)
    // A client that leaves is counted as 499. Nobody can answer it, so nobody needs to know.
    if (this.response.destroyed && (!fault || isConnectionError(error))) {
      this.#deps.log.debug({ requestId: this.requestId, err: error, route: this.route }, 'client closed the connection')
      return
    }
    if (fault) this.#deps.log.error({ requestId: this.requestId, err: error, route: this.route }, 'request failed')
    if (this.response.headersSent) return void this.response.destroy()
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

/** An error that says no more than that the connection has ended. */
function isConnectionError(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return code === 'ECONNRESET' || code === 'EPIPE' || code === 'ERR_STREAM_PREMATURE_CLOSE'
}

/** A connection whose request has not been read to its end cannot carry another one. */
export function hasUnreadBody(request: IncomingMessage): boolean {
  if (request.complete) return false
  return request.headers['transfer-encoding'] !== undefined || request.headers['content-length'] !== undefined
}
