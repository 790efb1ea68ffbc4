import type { Endpoint } from '@gatehouse/contracts'
import type { Dispatcher } from 'undici'
import type { Deps } from '../deps.ts'
import type { RequestContext } from '../http/request-context.ts'
import { toUpstreamHeaders } from './proxy-headers.ts'
import { hasBody, readBody, type Body } from './read-body.ts'
import type { Replica, Replicas } from './replicas.ts'
import { ProxyResponseHandler, type ProxyObserver } from './response-handler.ts'
import { kindOfFailure, upstreamRefusal, type FailureKind } from './upstream-failure.ts'

type ProxyDeps = Pick<Deps, 'replicas' | 'timeouts' | 'gatewayMetrics' | 'log'>
type ProxyTarget = { endpoint: Endpoint; callerToken: string }

const noBody: Body = { buffer: null }

/**
 * Sends a request to a replica of its service with the caller token, and streams the response to the client. Another
 * replica is tried when the first cannot have seen the request, or when it broke off a request that changes nothing.
 * Returns a promise only where there is a body to read, and rejects with what reading it throws; failures of the service
 * are answered. Design: invariant 6.
 */
export function proxyRequest(deps: ProxyDeps, context: RequestContext, target: ProxyTarget): void | Promise<void> {
  const send = (body: Body): void => new ProxyRequest(deps, context, { ...target, body }).attempt()
  return hasBody(context.request, target.endpoint) ? readBody(context, target.endpoint).then(send) : send(noBody)
}

/** One request to a service, which may take several attempts. */
class ProxyRequest implements ProxyObserver {
  readonly #deps: ProxyDeps
  readonly #context: RequestContext
  readonly #endpoint: Endpoint
  readonly #replicas: Replicas
  readonly #body: Body
  readonly #options: Dispatcher.DispatchOptions
  readonly #tried: Replica[] = []

  constructor(deps: ProxyDeps, context: RequestContext, target: ProxyTarget & { body: Body }) {
    const { endpoint, callerToken, body } = target
    const { request, requestId, path, search } = context
    const headers = toUpstreamHeaders(request.headers, { callerToken, requestId })
    if ('stream' in body && body.length !== undefined) headers.push('content-length', body.length)
    this.#deps = deps
    this.#context = context
    this.#endpoint = endpoint
    this.#replicas = deps.replicas[endpoint.service]
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
    const replica = this.#replicas.pick(this.#tried)
    if (!replica) return this.#context.fail(upstreamRefusal('unreached'))
    this.#tried.push(replica)
    replica.pool.dispatch(this.#options, new ProxyResponseHandler(this.#context, replica, this))
  }

  responseStarted(replica: Replica, seconds: number): void {
    this.#replicas.markHealthy(replica)
    this.#deps.gatewayMetrics.upstreamResponded(this.#endpoint.service, seconds)
  }

  requestFailed(replica: Replica, error: Error, wasSent: boolean): void {
    const { requestId } = this.#context
    const { service } = this.#endpoint
    const kind = kindOfFailure(error, wasSent)
    this.#replicas.markFailed(replica)
    this.#deps.gatewayMetrics.upstreamFailed(service, kind)
    this.#deps.log.warn({ requestId, service, replica: replica.origin, kind }, 'upstream request failed')
    if (this.#canRetryAfter(kind) && this.#tried.length < this.#replicas.size) return this.attempt()
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
