import type { IncomingMessage, ServerResponse } from 'node:http'
import { answerFor } from '@gatehouse/service-kit'
import type { Deps } from './deps.ts'
import { apiContentPolicy, type HeaderList } from './standing-headers.ts'

type Needs = Pick<Deps, 'log' | 'standing' | 'edgeMetrics'>

/** What metrics call an answer that nobody waited for. */
const clientLeft = 499

/** One request and its answer, with what every step needs to know of them. */
export class Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  /** The client's address, when it is known. */
  address = ''
  /** The route as the contract writes it, for metrics. */
  route = 'none'
  /** Headers that steps before the answer want in it: RateLimit-*. */
  extra: HeaderList | undefined
  /** What is under way for it, to be told when the client leaves before its answer is written. */
  passage: { clientLeft(): void } | undefined
  readonly #deps: Needs
  readonly #started: number

  constructor(deps: Needs, parts: { request: IncomingMessage; response: ServerResponse; requestId: string }) {
    this.#deps = deps
    this.request = parts.request
    this.response = parts.response
    this.requestId = parts.requestId
    this.#started = performance.now()
    this.response.once('close', () => this.#closed())
  }

  /** All is written, or the client has left. */
  #closed(): void {
    const { writableFinished, statusCode } = this.response
    const seconds = (performance.now() - this.#started) / 1000
    this.#deps.edgeMetrics.answered(this.route, writableFinished ? statusCode : clientLeft, seconds)
    if (!writableFinished) this.passage?.clientLeft()
  }

  /** The headers of an answer of the API, after those of its own. */
  apiHeaders(own: HeaderList): HeaderList {
    if (this.extra) own.push(...this.extra)
    own.push('X-Request-Id', this.requestId, ...this.#deps.standing.api)
    return own
  }

  /** The headers of an answer that is part of the web app. */
  pageHeaders(own: HeaderList): HeaderList {
    own.push('X-Request-Id', this.requestId, ...this.#deps.standing.page)
    return own
  }

  sendJson(status: number, body: object, headers: HeaderList = []): void {
    const text = JSON.stringify(body)
    const own = ['Content-Type', 'application/json; charset=utf-8', 'Content-Length', String(Buffer.byteLength(text))]
    if (!headers.includes('Cache-Control')) own.push('Cache-Control', 'no-store')
    own.push('Content-Security-Policy', apiContentPolicy, ...headers)
    if (isUnread(this.request)) own.push('Connection', 'close')
    this.response.writeHead(status, this.apiHeaders(own))
    this.response.end(text)
  }

  sendEmpty(status: number, headers: HeaderList): void {
    this.response.writeHead(status, this.apiHeaders(headers))
    this.response.end()
  }

  /** Answers with what a thrown value amounts to; an answer that has begun is cut, so that nobody takes it for whole. */
  fail(error: unknown): void {
    const { refusal, fault } = answerFor(error)
    if (fault) this.#deps.log.error({ requestId: this.requestId, error, route: this.route }, 'request failed')
    if (this.response.headersSent) return void this.response.destroy()
    if (refusal.status === 401) this.#deps.edgeMetrics.turnedAway(refusal.code)
    const headers = Object.entries(refusal.headers).flat()
    if (refusal.status === 401) headers.push('WWW-Authenticate', 'Bearer')
    this.sendJson(refusal.status, refusal.body, headers)
  }
}

/** A connection whose request was not read to its end cannot be used for another one. */
function isUnread(request: IncomingMessage): boolean {
  if (request.complete) return false
  return request.headers['transfer-encoding'] !== undefined || request.headers['content-length'] !== undefined
}
