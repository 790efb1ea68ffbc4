import { endpoints, type Endpoint } from '@gatehouse/contracts'
import type { Span } from '@gatehouse/runtime'
import type { Dispatcher } from 'undici'
import { busy } from '../errors.ts'
import type { SignedCaller } from '../auth/token-cache.ts'
import type { Deps } from '../deps.ts'
import { isRelay } from '../http/relay-bodies.ts'
import type { RequestContext } from '../http/request-context.ts'
import { toUpstreamHeaders } from './proxy-headers.ts'
import type { Body } from './read-body.ts'
import type { Lane, Replica } from './replica.ts'
import type { Replicas } from './replicas.ts'
import { ResponseBuffer } from './response-buffer.ts'
import { ProxyResponseHandler, type ProxyObserver } from './response-handler.ts'
import { kindOfFailure, upstreamRefusal, type FailureKind } from './upstream-failure.ts'

type ProxyDeps = Pick<Deps, 'replicas' | 'timeouts' | 'gatewayMetrics' | 'log' | 'bufferBudget'>
type ProxyTarget = {
  endpoint: Endpoint
  caller: SignedCaller
  /** Judges the caller again, because time has passed. */
  judgeAgain: () => Promise<SignedCaller>
  openBody: () => Body
}

const byteReplies: readonly unknown[] = ['file', 'archive']

/** The endpoints whose requests or responses take as long as the client likes. */
const fileEndpoints: ReadonlySet<Endpoint> = new Set(
  Object.values(endpoints as Record<string, Endpoint>).filter(
    (endpoint) =>
      endpoint.body === 'multipart' ||
      isRelay(endpoint) ||
      Object.values(endpoint.replies).some((reply) => byteReplies.includes(reply)),
  ),
)

/**
 * Sends a request to a replica of its service with the caller token, and streams the response to the client. Another
 * replica is tried when the first cannot have seen the request, or when it broke off a request that changes nothing.
 * Rejects with busy when no connection comes free in time, and with what `judgeAgain` throws after that wait; failures of
 * the service are answered. Design: invariant 6.
 */
export async function proxyRequest(deps: ProxyDeps, context: RequestContext, target: ProxyTarget): Promise<void> {
  const { service } = target.endpoint
  const lane: Lane = fileEndpoints.has(target.endpoint) ? 'file' : 'json'
  const queue = deps.replicas[service].queues[lane]
  const { network } = context
  let { caller } = target
  if (!queue.tryTake(network)) {
    const { granted, cancel } = queue.wait(network)
    context.upstream = { abort: cancel }
    if (!(await granted)) throw refuseBusy(deps, service)
    try {
      caller = await target.judgeAgain()
    } catch (error) {
      queue.release(network)
      throw error
    }
  }
  const options = { ...target, caller, lane, release: () => queue.release(network) }
  new ProxyRequest(deps, context, options).attempt()
}

function refuseBusy({ gatewayMetrics }: ProxyDeps, service: Endpoint['service']): Error {
  gatewayMetrics.upstreamFailed(service, 'busy')
  return busy()
}

type RequestOptions = Pick<ProxyTarget, 'endpoint' | 'caller' | 'openBody'> & { lane: Lane; release: () => void }

/** One request to a service, which may take several attempts. */
class ProxyRequest implements ProxyObserver {
  readonly #deps: ProxyDeps
  readonly #context: RequestContext
  readonly #endpoint: Endpoint
  readonly #replicas: Replicas
  readonly #lane: Lane
  readonly #body: Body
  readonly #options: Dispatcher.DispatchOptions
  readonly #tried: Replica[] = []
  /** Of all attempts. */
  readonly #span: Span | undefined
  /** Gives the connection back, once. */
  #release: (() => void) | undefined
  #failure: FailureKind | undefined

  constructor(deps: ProxyDeps, context: RequestContext, { endpoint, caller, openBody, lane, release }: RequestOptions) {
    const { request, requestId, path, search } = context
    const body = openBody()
    const span = context.span?.startChild(`forward to ${endpoint.service}`, 'client')
    const headers = toUpstreamHeaders(request.headers, { callerToken: caller.token, requestId, span })
    if ('stream' in body && body.length !== undefined) headers.push('content-length', body.length)
    this.#deps = deps
    this.#span = span
    this.#context = context
    this.#endpoint = endpoint
    this.#replicas = deps.replicas[endpoint.service]
    this.#lane = lane
    this.#release = release
    this.#body = body
    this.#options = {
      path: path + search,
      method: request.method ?? endpoint.method,
      headers,
      body: 'buffer' in body ? body.buffer : body.stream,
      headersTimeout: this.#isRead ? deps.timeouts.readMs : deps.timeouts.writeMs,
      // Otherwise undici closes the connection after each HEAD and each DELETE with a body.
      reset: false,
    }
  }

  attempt(): void {
    const replica = this.#replicas.pick(this.#lane, this.#tried)
    if (!replica) return this.#fail('unreached')
    this.#tried.push(replica)
    const handler = new ProxyResponseHandler(this.#context, { replica, lane: this.#lane }, this)
    replica.pools[this.#lane].dispatch(this.#options, handler)
  }

  openBuffer(): ResponseBuffer {
    return new ResponseBuffer({ budget: this.#deps.bufferBudget, timeouts: this.#deps.timeouts }, this.#context)
  }

  requestEnded(): void {
    if (this.#release) this.#span?.end(this.#failure)
    this.#release?.()
    this.#release = undefined
  }

  replicaLeaves(replica: Replica): void {
    this.#replicas.markLeaving(replica)
  }

  responseStarted(replica: Replica, seconds: number): void {
    this.#replicas.markHealthy(replica)
    this.#deps.gatewayMetrics.upstreamResponded(this.#endpoint.service, seconds)
  }

  requestFailed(replica: Replica, error: Error, wasSent: boolean): void {
    const { requestId } = this.#context
    const { service } = this.#endpoint
    const kind = kindOfFailure(error, wasSent)
    // A response that was begun may end on purpose: an export does when its token is revoked.
    if (!this.#context.response.headersSent) this.#replicas.markFailed(replica)
    this.#deps.gatewayMetrics.upstreamFailed(service, kind)
    this.#deps.log.warn({ requestId, service, replica: replica.origin, kind }, 'upstream request failed')
    if (this.#canRetryAfter(kind) && this.#replicas.hasOther(this.#tried)) return this.attempt()
    this.#fail(kind)
  }

  #fail(kind: FailureKind): void {
    this.#failure = kind
    this.requestEnded()
    this.#context.fail(upstreamRefusal(kind))
  }

  get #isRead(): boolean {
    return this.#endpoint.method === 'GET'
  }

  #canRetryAfter(kind: FailureKind): boolean {
    if (kind === 'unreached') return 'buffer' in this.#body || !this.#body.stream.destroyed
    return this.#isRead && !this.#context.response.headersSent
  }
}
