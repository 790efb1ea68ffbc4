import type { IncomingHttpHeaders } from 'node:http'
import { refuse, type Refusal, type Span } from '@gatehouse/runtime'
import { drainingHeader } from '@gatehouse/service-kit'
import type { Dispatcher } from 'undici'
import type { SignedCaller } from '../auth/callers.ts'
import type { Deps } from '../deps.ts'
import { toClientHeaders, toUpstreamHeaders } from '../http/headers.ts'
import type { RequestContext } from '../http/request-context.ts'
import { checkQuery } from '../http/request-target.ts'
import type { RouteTarget } from '../http/route-target.ts'
import type { Pools, Replica } from '../replicas/replicas.ts'
import { createResponseBuffer, type Body, type ResponseBuffer } from './bodies.ts'

type ProxyDeps = Pick<Deps, 'timeouts' | 'capacity' | 'gatewayMetrics' | 'log'>
type Proxied = { target: RouteTarget; caller: SignedCaller }
/** `reauthenticate` is called when the request had to wait. */
type ProxyOptions = Proxied & { reauthenticate: () => Promise<SignedCaller>; openBody: () => Body }

/**
 * Sends a request and streams the response. Another replica is tried when the request was not seen or changes nothing;
 * where there is none, a read that broke off is sent once more, on a new connection.
 * Throws invalid_input for a malformed query, busy, and what `reauthenticate` throws. Design: invariant 6; Contract: 1, statuses.
 */
export async function proxyRequest(deps: ProxyDeps, context: RequestContext, options: ProxyOptions): Promise<void> {
  const { target, openBody } = options
  const slots = target.replicas.slots[target.lane]
  const { network } = context
  let { caller } = options
  if (!target.anyQuery) checkQuery(context.search)
  if (!slots.tryTake(network)) {
    const { granted, cancel } = slots.wait(network)
    context.upstream = { abort: cancel }
    if (!(await granted)) {
      deps.gatewayMetrics.upstreamFailed(target.service, 'busy')
      throw refuse.busy()
    }
    try {
      caller = await options.reauthenticate()
    } catch (error) {
      slots.release(network)
      throw error
    }
  }
  new ProxyRequest(deps, context, { target, caller, body: openBody() }).attempt()
}

class ProxyRequest {
  readonly deps: ProxyDeps
  readonly context: RequestContext
  readonly target: RouteTarget
  readonly #body: Body
  readonly #options: Dispatcher.DispatchOptions
  readonly #tried: Replica[] = []
  #pools: Pools | undefined
  readonly #started = performance.now()
  readonly #span: Span | undefined
  #failure: FailureKind | undefined
  #hasRepeated = false
  #hasEnded = false

  constructor(deps: ProxyDeps, context: RequestContext, { target, caller, body }: Proxied & { body: Body }) {
    const { request, requestId, path, search } = context
    this.deps = deps
    this.context = context
    this.target = target
    this.#span = context.span?.startChild(`forward to ${target.service}`, 'client')
    this.#body = body
    const headers = toUpstreamHeaders(request.headers, { callerToken: caller.token, requestId, span: this.#span })
    if (target.readsCookies && request.headers.cookie) headers.push('cookie', request.headers.cookie)
    const { authorization } = request.headers
    if (target.isProtocol && authorization !== undefined) headers.push('authorization', authorization)
    if ('stream' in body && body.length !== undefined) headers.push('content-length', body.length)
    this.#options = {
      path: path + search,
      method: request.method ?? 'GET',
      headers,
      body: 'buffer' in body ? body.buffer : body.stream,
      headersTimeout: target.timeoutMs,
      // Without this undici closes the connection after each HEAD, and after each DELETE with a body.
      reset: false,
    }
  }

  attempt(): void {
    const { replicas, lane } = this.target
    const replica = replicas.pick(lane, this.#tried)
    if (!replica) return this.#fail('unreached')
    this.#tried.push(replica)
    this.#pools = replica.pools
    this.#pools[lane].dispatch(this.#options, new Attempt(this, replica))
  }

  /** The response is complete, or the client has left. */
  end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#span?.end(this.#failure)
    this.target.replicas.slots[this.target.lane].release(this.context.network)
  }

  /** `wasSent`: the service may have seen the request. */
  attemptFailed(replica: Replica, error: Error, wasSent: boolean): void {
    const { requestId, response } = this.context
    const { service, replicas } = this.target
    const kind = kindOfFailure(error, wasSent)
    // A response that has begun may end on purpose, as an export does when its token is revoked.
    if (!response.headersSent) replicas.markFailed(replica)
    this.deps.gatewayMetrics.upstreamFailed(service, kind)
    this.deps.log.warn({ requestId, service, replica: replica.origin, kind }, 'upstream request failed')
    if (this.#canRetryAfter(kind) && (replicas.hasOther(this.#tried) || this.#repeats(replica, kind)))
      return this.attempt()
    this.#fail(kind)
  }

  #fail(kind: FailureKind): void {
    this.#failure = kind
    this.end()
    this.context.fail(refusals[kind]())
  }

  /** A service that stops, or has had enough of an idle connection, may close it while a request is on its way. */
  #repeats(replica: Replica, kind: FailureKind): boolean {
    if (kind !== 'broken' || this.#tried.length > 1 || this.#hasRepeated) return false
    if (this.#pools) this.target.replicas.reconnect(replica, this.#pools)
    this.#hasRepeated = true
    this.#tried.length = 0
    return true
  }

  #canRetryAfter(kind: FailureKind): boolean {
    if (kind === 'unreached') return 'buffer' in this.#body || !this.#body.stream.destroyed
    const isCallerCurrent = performance.now() - this.#started < this.deps.timeouts.retryMs
    return this.target.isRead && !this.context.response.headersSent && isCallerCurrent
  }
}

/** `unreached`: the service cannot have seen the request. `broken`: the response is incomplete. */
type FailureKind = 'unreached' | 'timeout' | 'broken'

const connectErrors = new Set(['ECONNREFUSED', 'UND_ERR_CONNECT_TIMEOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH'])
const timeoutErrors = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

function kindOfFailure(error: Error, wasSent: boolean): FailureKind {
  const [first = error] = error instanceof AggregateError ? (error.errors as Error[]) : []
  const code = 'code' in first ? String(first.code) : ''
  if (!wasSent || connectErrors.has(code)) return 'unreached'
  return timeoutErrors.has(code) ? 'timeout' : 'broken'
}

/** A service that does not answer is an outage, and never a 500. Contract: 1, statuses. */
const refusals: Record<FailureKind, () => Refusal> = {
  unreached: () => refuse.unavailable(),
  timeout: () => refuse.gateway_timeout({ headers: { 'Retry-After': '5' } }),
  broken: () => refuse.bad_gateway(),
}

/** Streams one response. A closed client aborts the upstream request. A broken service cuts the client's connection. */
class Attempt implements Dispatcher.DispatchHandler {
  readonly #proxied: ProxyRequest
  readonly #replica: Replica
  readonly #started = performance.now()
  #controller: Dispatcher.DispatchController | undefined
  #hasEnded = false
  #contentLength: number | undefined
  #buffer: ResponseBuffer | undefined

  constructor(proxied: ProxyRequest, replica: Replica) {
    this.#proxied = proxied
    this.#replica = replica
    replica.activeRequests[proxied.target.lane] += 1
    proxied.context.upstream = this
  }

  abort(): void {
    if (!this.#hasEnded) this.#controller?.abort(new Error('client closed the connection'))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#proxied.context.response.destroyed) this.abort()
  }

  onResponseStart(_controller: unknown, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return
    const { context, target, deps } = this.#proxied
    target.replicas.markHealthy(this.#replica)
    deps.gatewayMetrics.upstreamResponded(target.service, (performance.now() - this.#started) / 1000)
    if (headers[drainingHeader] !== undefined) target.replicas.markLeaving(this.#replica)
    // A 204 must not have the header, even if the upstream sends it. RFC 9110, 8.6.
    if (status === 204) delete headers['content-length']
    const length = headers['content-length']
    if (length !== undefined) this.#contentLength = Number(length)
    const own = toClientHeaders(headers, target.droppedFromResponses)
    context.response.writeHead(status, target.isProtocol ? context.withPageHeaders(own) : context.withApiHeaders(own))
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { context, deps, target } = this.#proxied
    const { response } = context
    // Latin1 text lets head and body leave in one write, which costs a third less.
    if (chunk.length === this.#contentLength) return void response.end(chunk.toString('latin1'), 'latin1')
    if (response.write(chunk) || response.destroyed) return
    this.#buffer ??= createResponseBuffer(deps, context, target.responseBudget)
    this.#buffer.hold(controller, chunk.length)
  }

  onResponseEnd(): void {
    const { response } = this.#proxied.context
    this.#end()
    this.#proxied.end()
    if (response.writableEnded) return
    this.#buffer?.end()
    response.end()
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (this.#hasEnded) return
    this.#end()
    if (this.#proxied.context.response.destroyed) return this.#proxied.end()
    this.#proxied.attemptFailed(this.#replica, error, this.#controller !== undefined)
  }

  #end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#replica.activeRequests[this.#proxied.target.lane] -= 1
  }
}
