import type { Caller } from '@gatehouse/auth'
import { endpoints, type Access, type Endpoint, type RateLimit } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { isRelay, relayBodyBytes } from '../http/relay-bodies.ts'
import { policy } from '../policy.ts'
import type { BufferBudget } from './buffer-budget.ts'
import type { Lane } from './replica.ts'
import type { Replicas } from './replicas.ts'

/** Signs the callers of one recipient. Design: invariant 6. */
export type CallerSigner = {
  /** The name of an upstream; undefined for all services of Gatehouse, which read the same caller token. */
  readonly audience: string | undefined
  sign(caller: Caller): string
}

/** Where requests of one method and path go, and what they must pass: an endpoint of the contract, or a route of an upstream. */
export type RouteTarget = {
  /** For metrics, traces and the access log: never what a client wrote. */
  readonly route: string
  /** The name of the service, for metrics and the log. */
  readonly service: string
  readonly replicas: Replicas
  readonly lane: Lane
  readonly access: Access
  /** Whether the bearer token of a request counts although none is demanded. */
  readonly readsToken: boolean
  readonly limit: RateLimit | undefined
  readonly signer: CallerSigner
  /** A request that changes nothing: its body has no meaning, and it may be repeated. */
  readonly isRead: boolean
  /** Whether a body is buffered before it is forwarded, or streamed as an upload or as the batch of a peer. */
  readonly body: 'buffered' | 'upload' | 'batch'
  readonly maxBodyBytes: number
  /** Holds what buffered bodies take beyond that of a JSON body. */
  readonly bodyBudget: BufferBudget | undefined
  /** Holds what responses take that their clients read slowly. */
  readonly responseBudget: BufferBudget
  /** For the head of the response. */
  readonly timeoutMs: number
  /** Header fields of its responses that are not forwarded, beside those that hold for one connection. */
  readonly droppedFromResponses: ReadonlySet<string> | undefined
}

type TargetDeps = Pick<Deps, 'replicas' | 'timeouts' | 'callerSigner' | 'bufferBudget'>

const byteReplies: readonly unknown[] = ['file', 'archive']

/** The target of an endpoint of the contract. */
function endpointTarget(deps: TargetDeps, endpoint: Endpoint): RouteTarget {
  const { method, path, service, access, limit } = endpoint
  const isRead = method === 'GET'
  return {
    route: `${method} ${path}`,
    service,
    replicas: deps.replicas[service],
    lane: takesLong(endpoint) ? 'file' : 'json',
    access,
    readsToken: false,
    limit,
    signer: deps.callerSigner,
    isRead,
    ...bodyOf(endpoint),
    bodyBudget: undefined,
    responseBudget: deps.bufferBudget,
    timeoutMs: isRead ? deps.timeouts.readMs : deps.timeouts.writeMs,
    droppedFromResponses: undefined,
  }
}

/** The targets of all endpoints. */
export function endpointTargets(deps: TargetDeps): { endpoint: Endpoint; target: RouteTarget }[] {
  return Object.values(endpoints as Record<string, Endpoint>).map((endpoint) => ({
    endpoint,
    target: endpointTarget(deps, endpoint),
  }))
}

function bodyOf(endpoint: Endpoint): Pick<RouteTarget, 'body' | 'maxBodyBytes'> {
  if (endpoint.body === 'multipart') return { body: 'upload', maxBodyBytes: policy.uploadBodyBytes }
  if (isRelay(endpoint)) return { body: 'batch', maxBodyBytes: relayBodyBytes }
  return { body: 'buffered', maxBodyBytes: policy.jsonBodyBytes }
}

/** Whether its requests or responses take as long as the client likes. */
function takesLong(endpoint: Endpoint): boolean {
  if (endpoint.body === 'multipart' || isRelay(endpoint)) return true
  return Object.values(endpoint.replies).some((reply) => byteReplies.includes(reply))
}
