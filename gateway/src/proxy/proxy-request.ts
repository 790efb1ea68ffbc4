import { endpointTable } from '@gatehouse/contracts'
import type { Span } from '@gatehouse/runtime'
import type { Dispatcher } from 'undici'
import { busy } from '../errors.ts'
import type { SignedCaller } from '../auth/token-cache.ts'
import type { Deps } from '../deps.ts'
import type { RequestContext } from '../http/request-context.ts'
import { checkQuery } from '../http/request-target.ts'
import { toUpstreamHeaders } from './proxy-headers.ts'
import type { Body } from './read-body.ts'
import type { Replica } from './replica.ts'
import { ResponseBuffer } from './response-buffer.ts'
import { ProxyResponseHandler, type ProxyObserver } from './response-handler.ts'
import type { RouteTarget } from './route-target.ts'
import { kindOfFailure, upstreamRefusal, type FailureKind } from './upstream-failure.ts'

type ProxyDeps = Pick<Deps, 'timeouts' | 'gatewayMetrics' | 'log'>
type ProxyOptions = {
  target: RouteTarget
  caller: SignedCaller
  judgeAgain: () => Promise<SignedCaller>
  openBody: () => Body
}

/** The route that accepts any query. Contract: 3, check-invite. */
const withAnyQuery = `GET ${endpointTable.checkInvite.path}`

/**
 * Sends a request and streams the response. Another replica is tried when the request was not seen or changes nothing.
 * Rejects with invalid_input for a malformed query, with busy, and with what `judgeAgain` throws. Design: invariant 6.
 */
export async function proxyRequest(deps: ProxyDeps, context: RequestContext, options: ProxyOptions): Promise<void> {
  const { target, openBody } = options
  const queue = target.replicas.queues[target.lane]
  const { network } = context
  let { caller } = options
  if (target.route !== withAnyQuery) checkQuery(context.search)
  if (!queue.tryTake(network)) {
    const { granted, cancel } = queue.wait(network)
    context.upstream = { abort: cancel }
    if (!(await granted)) throw refuseBusy(deps, target)
    try {
      caller = await options.judgeAgain()
    } catch (error) {
      queue.release(network)
      throw error
    }
  }
  const release = (): void => queue.release(network)
  new ProxyRequest(deps, context, { target, caller, openBody, release }).attempt()
}

function refuseBusy({ gatewayMetrics }: ProxyDeps, { service }: RouteTarget): Error {
  gatewayMetrics.upstreamFailed(service, 'busy')
  return busy()
}

type RequestOptions = Pick<ProxyOptions, 'target' | 'caller' | 'openBody'> & { release: () => void }

class ProxyRequest implements ProxyObserver {
  readonly #deps: ProxyDeps
  readonly #context: RequestContext
  readonly #target: RouteTarget
  readonly #body: Body
  readonly #options: Dispatcher.DispatchOptions
  readonly #tried: Replica[] = []
  readonly #started = performance.now()
  readonly #span: Span | undefined
  #release: (() => void) | undefined
  #failure: FailureKind | undefined

  constructor(deps: ProxyDeps, context: RequestContext, { target, caller, openBody, release }: RequestOptions) {
    const { request, requestId, path, search } = context
    const body = openBody()
    const span = context.span?.startChild(`forward to ${target.service}`, 'client')
    const headers = toUpstreamHeaders(request.headers, { callerToken: caller.token, requestId, span })
    if ('stream' in body && body.length !== undefined) headers.push('content-length', body.length)
    this.#deps = deps
    this.#span = span
    this.#context = context
    this.#target = target
    this.#release = release
    this.#body = body
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
    const { replicas, lane, droppedFromResponses: dropped } = this.#target
    const replica = replicas.pick(lane, this.#tried)
    if (!replica) return this.#fail('unreached')
    this.#tried.push(replica)
    const handler = new ProxyResponseHandler(this.#context, { replica, lane, dropped }, this)
    replica.pools[lane].dispatch(this.#options, handler)
  }

  openBuffer(): ResponseBuffer {
    return new ResponseBuffer({ budget: this.#target.responseBudget, timeouts: this.#deps.timeouts }, this.#context)
  }

  requestEnded(): void {
    if (this.#release) this.#span?.end(this.#failure)
    this.#release?.()
    this.#release = undefined
  }

  replicaLeaves(replica: Replica): void {
    this.#target.replicas.markLeaving(replica)
  }

  responseStarted(replica: Replica, seconds: number): void {
    this.#target.replicas.markHealthy(replica)
    this.#deps.gatewayMetrics.upstreamResponded(this.#target.service, seconds)
  }

  requestFailed(replica: Replica, error: Error, wasSent: boolean): void {
    const { requestId } = this.#context
    const { service, replicas } = this.#target
    const kind = kindOfFailure(error, wasSent)
    // A response that has begun may end on purpose, as an export does when its token is revoked.
    if (!this.#context.response.headersSent) replicas.markFailed(replica)
    this.#deps.gatewayMetrics.upstreamFailed(service, kind)
    this.#deps.log.warn({ requestId, service, replica: replica.origin, kind }, 'upstream request failed')
    if (this.#canRetryAfter(kind) && replicas.hasOther(this.#tried)) return this.attempt()
    this.#fail(kind)
  }

  #fail(kind: FailureKind): void {
    this.#failure = kind
    this.requestEnded()
    this.#context.fail(upstreamRefusal(kind))
  }

  get #isCallerCurrent(): boolean {
    return performance.now() - this.#started < this.#deps.timeouts.retryMs
  }

  #canRetryAfter(kind: FailureKind): boolean {
    if (kind === 'unreached') return 'buffer' in this.#body || !this.#body.stream.destroyed
    return this.#target.isRead && !this.#context.response.headersSent && this.#isCallerCurrent
  }
}
