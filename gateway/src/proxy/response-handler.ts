import type { IncomingHttpHeaders } from 'node:http'
import { drainingHeader } from '@gatehouse/service-kit'
import type { Dispatcher } from 'undici'
import type { RequestContext } from '../http/request-context.ts'
import { toClientHeaders } from './proxy-headers.ts'
import type { Lane, Replica } from './replica.ts'
import type { ResponseBuffer } from './response-buffer.ts'

export type ProxyObserver = {
  responseStarted(replica: Replica, seconds: number): void
  replicaLeaves(replica: Replica): void
  /** The response is complete, or the client has left. */
  requestEnded(): void
  /** Not called when the client has left. `wasSent`: the service may have seen the request. */
  requestFailed(replica: Replica, error: Error, wasSent: boolean): void
  openBuffer(): ResponseBuffer
}

/** Streams one response. A closed client aborts the upstream request. A broken service cuts the client's connection. */
export class ProxyResponseHandler implements Dispatcher.DispatchHandler {
  readonly #context: RequestContext
  readonly #replica: Replica
  readonly #lane: Lane
  readonly #dropped: ReadonlySet<string> | undefined
  readonly #observer: ProxyObserver
  readonly #started = performance.now()
  #controller: Dispatcher.DispatchController | undefined
  #hasEnded = false
  #contentLength: number | undefined
  #buffer: ResponseBuffer | undefined

  constructor(
    context: RequestContext,
    target: { replica: Replica; lane: Lane; dropped: ReadonlySet<string> | undefined },
    observer: ProxyObserver,
  ) {
    this.#context = context
    this.#replica = target.replica
    this.#lane = target.lane
    this.#dropped = target.dropped
    this.#observer = observer
    this.#replica.activeRequests[this.#lane] += 1
    context.upstream = this
  }

  abort(): void {
    if (!this.#hasEnded) this.#controller?.abort(new Error('client closed the connection'))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#context.response.destroyed) this.abort()
  }

  onResponseStart(_controller: unknown, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return
    this.#observer.responseStarted(this.#replica, (performance.now() - this.#started) / 1000)
    if (headers[drainingHeader] !== undefined) this.#observer.replicaLeaves(this.#replica)
    // RFC 9110, 8.6.
    if (status === 204) delete headers['content-length']
    const length = headers['content-length']
    if (length !== undefined) this.#contentLength = Number(length)
    const kept = toClientHeaders(headers, this.#dropped)
    this.#context.response.writeHead(status, this.#context.withApiHeaders(kept))
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { response } = this.#context
    // Latin1 text lets head and body leave in one write, which costs a third less.
    if (chunk.length === this.#contentLength) return void response.end(chunk.toString('latin1'), 'latin1')
    if (response.write(chunk) || response.destroyed) return
    this.#buffer ??= this.#observer.openBuffer()
    this.#buffer.hold(controller, chunk.length)
  }

  onResponseEnd(): void {
    const { response } = this.#context
    this.#end()
    this.#observer.requestEnded()
    if (response.writableEnded) return
    this.#buffer?.end()
    response.end()
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (this.#hasEnded) return
    this.#end()
    if (this.#context.response.destroyed) return this.#observer.requestEnded()
    this.#observer.requestFailed(this.#replica, error, this.#controller !== undefined)
  }

  #end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#replica.activeRequests[this.#lane] -= 1
  }
}
