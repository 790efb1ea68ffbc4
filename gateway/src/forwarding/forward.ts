import type { Endpoint } from '@gatehouse/contracts'
import type { Dispatcher } from 'undici'
import type { Deps } from '../deps.ts'
import type { Exchange } from '../exchange.ts'
import { headersToService } from './passing-headers.ts'
import { Passage, type Sender } from './passage.ts'
import { hasBody, readBody, type Body } from './read-body.ts'
import type { Replica } from './replicas.ts'
import { kindOfFailure, refusalOf } from './upstream-failure.ts'

type Order = { exchange: Exchange; endpoint: Endpoint; path: string; caller: string }
type Needs = Pick<Deps, 'replicas' | 'patience' | 'edgeMetrics' | 'log'>

const noBody: Body = { whole: null }

/**
 * Hands a request to a replica of its service with the signed caller, and the answer back. Another replica is asked when
 * one saw nothing of the request, or broke off in one that changes nothing. Gives a promise only where there is a body to
 * read, and rejects or throws what reading it does; failures of the service are answered. Design: invariant 6.
 */
export function forward(deps: Needs, order: Order): void | Promise<void> {
  const send = (body: Body): void => new Forwarding(deps, order, body).attempt()
  return hasBody(order.exchange.request, order.endpoint)
    ? readBody(order.exchange, order.endpoint).then(send)
    : send(noBody)
}

/** One request on its way to a service, from replica to replica if need be. */
class Forwarding implements Sender {
  readonly #deps: Needs
  readonly #order: Order
  readonly #body: Body
  readonly #options: Dispatcher.DispatchOptions
  readonly #tried: Replica[] = []

  constructor(deps: Needs, order: Order, body: Body) {
    const { request, requestId } = order.exchange
    const headers = headersToService(request.headers, { caller: order.caller, requestId })
    if ('coming' in body && body.length !== undefined) headers.push('content-length', body.length)
    this.#deps = deps
    this.#order = order
    this.#body = body
    this.#options = {
      path: order.path,
      method: request.method!,
      headers,
      body: 'whole' in body ? body.whole : body.coming,
      headersTimeout: this.#isRead ? deps.patience.readMs : deps.patience.writeMs,
      // Otherwise undici leaves the connection after each HEAD and each DELETE with a body.
      reset: false,
    }
  }

  attempt(): void {
    const { exchange, endpoint } = this.#order
    const replica = this.#deps.replicas[endpoint.service].pick(this.#tried)
    if (!replica) return exchange.fail(refusalOf('unreached'))
    this.#tried.push(replica)
    replica.pool.dispatch(this.#options, new Passage(exchange, replica, this))
  }

  answered(replica: Replica, seconds: number): void {
    const { service } = this.#order.endpoint
    this.#deps.replicas[service].praise(replica)
    this.#deps.edgeMetrics.upstreamAnswered(service, seconds)
  }

  failed(replica: Replica, error: Error, wasSent: boolean): void {
    const { exchange, endpoint } = this.#order
    const { service } = endpoint
    const replicas = this.#deps.replicas[service]
    const kind = kindOfFailure(error, wasSent)
    replicas.rest(replica)
    this.#deps.edgeMetrics.upstreamFailed(service, kind)
    const facts = { requestId: exchange.requestId, service, replica: replica.origin, kind }
    this.#deps.log.warn(facts, 'service did not answer')
    if (this.#canRepeatAfter(kind) && this.#tried.length < replicas.size) return this.attempt()
    exchange.fail(refusalOf(kind))
  }

  get #isRead(): boolean {
    return this.#order.endpoint.method === 'GET'
  }

  #canRepeatAfter(kind: ReturnType<typeof kindOfFailure>): boolean {
    if (kind === 'unreached') return 'whole' in this.#body || !this.#body.coming.destroyed
    return this.#isRead && !this.#order.exchange.response.headersSent
  }
}
