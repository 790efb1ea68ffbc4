import type { Caller } from '@gatehouse/auth'
import { endpoints, type Access, type Endpoint, type RateLimit, type ServiceName } from '@gatehouse/contracts'
import { isRelay, relayBodyBytes } from '../http/relay-bodies.ts'
import { policy, type Timeouts } from '../policy.ts'
import type { BufferBudget } from './buffer-budget.ts'
import type { Lane } from './replica.ts'
import type { Replicas } from './replicas.ts'

/** Design: invariant 6. */
export type CallerSigner = {
  /** The name of an upstream. Undefined for the services of Gatehouse. */
  readonly audience: string | undefined
  sign(caller: Caller): string
}

export type RouteTarget = {
  /** Never contains client input. */
  readonly route: string
  readonly service: string
  readonly replicas: Replicas
  readonly lane: Lane
  readonly access: Access
  /** A bearer token counts although none is required. */
  readonly readsToken: boolean
  readonly limit: RateLimit | undefined
  readonly signer: CallerSigner
  /** The body is ignored, and the request may be repeated. */
  readonly isRead: boolean
  /** Uploads and batches of peers are streamed. */
  readonly body: 'buffered' | 'upload' | 'batch'
  readonly maxBodyBytes: number
  /** Counts what bodies take beyond a JSON body. */
  readonly bodyBudget: BufferBudget | undefined
  /** Counts what slow readers leave unread. */
  readonly responseBudget: BufferBudget
  readonly timeoutMs: number
  /** Dropped beside the hop-by-hop fields. */
  readonly droppedFromResponses: ReadonlySet<string> | undefined
}

type TargetDeps = {
  replicas: Record<ServiceName, Replicas>
  timeouts: Timeouts
  callerSigner: CallerSigner
  bufferBudget: BufferBudget
}

const byteReplies: readonly unknown[] = ['file', 'archive']

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

function takesLong(endpoint: Endpoint): boolean {
  if (endpoint.body === 'multipart' || isRelay(endpoint)) return true
  return Object.values(endpoint.replies).some((reply) => byteReplies.includes(reply))
}
