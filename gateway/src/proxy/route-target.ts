import {
  endpoints,
  type Access,
  type Endpoint,
  type RateLimit,
  type ServiceName,
  type UpstreamRight,
} from '@gatehouse/contracts'
import type { Quota } from '@gatehouse/runtime'
import type { CallerSigner } from '../auth/caller-signer.ts'
import { policy, type Timeouts } from '../policy.ts'
import type { Lane } from '../replicas/replica.ts'
import type { Replicas } from '../replicas/replicas.ts'

/** How a route takes its body. */
export type BodyMode = {
  readonly maxBytes: number
  /** The service gets it while it is received, and may refuse it by its headers. */
  readonly isStreamed: boolean
  /** Counts what it takes beyond a JSON body. */
  readonly budget?: Quota
}

export type RouteTarget = {
  /** Never contains client input. */
  readonly route: string
  readonly service: string
  readonly replicas: Replicas
  readonly lane: Lane
  readonly access: Access
  /** With access `upstream`. */
  readonly right: UpstreamRight | undefined
  /** A bearer token counts although none is required. */
  readonly readsToken: boolean
  readonly limit: RateLimit | undefined
  readonly signer: CallerSigner
  /** The body is ignored, and the request may be repeated. */
  readonly isRead: boolean
  readonly body: BodyMode
  /** The caller's uploads are counted. */
  readonly isUpload: boolean
  /** Otherwise a query that is not encoded correctly is refused. */
  readonly anyQuery: boolean
  /** Counts what slow readers leave unread. */
  readonly responseBudget: Quota
  readonly timeoutMs: number
  /** Dropped beside the hop-by-hop fields. */
  readonly droppedFromResponses: ReadonlySet<string> | undefined
}

type TargetDeps = {
  replicas: Record<ServiceName, Replicas>
  timeouts: Timeouts
  signers: Record<ServiceName, CallerSigner>
  bufferBudget: Quota
}

const byteReplies: readonly unknown[] = ['file', 'archive']

function endpointTarget(deps: TargetDeps, endpoint: Endpoint): RouteTarget {
  const { method, path, service, access, right, limit } = endpoint
  const isRead = method === 'GET'
  const body = bodyOf(endpoint)
  return {
    route: `${method} ${path}`,
    service,
    replicas: deps.replicas[service],
    lane: body.isStreamed || repliesBytes(endpoint) ? 'file' : 'json',
    access,
    right,
    readsToken: false,
    limit,
    signer: deps.signers[service],
    isRead,
    body,
    isUpload: endpoint.body === 'multipart',
    anyQuery: endpoint.anyQuery ?? false,
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

function bodyOf({ name, body }: Endpoint): BodyMode {
  if (body === 'multipart') return { maxBytes: policy.uploadBodyBytes, isStreamed: true }
  if (name === 'relay') return { maxBytes: policy.relayBodyBytes, isStreamed: true }
  return { maxBytes: policy.jsonBodyBytes, isStreamed: false }
}

function repliesBytes({ replies }: Endpoint): boolean {
  return Object.values(replies).some((reply) => byteReplies.includes(reply))
}
