import { endpoints, protocolRoutes, type Access, type Endpoint, type RateLimit } from '@gatehouse/contracts'
import type { ProtocolRoute, ServiceName, UpstreamRight } from '@gatehouse/contracts'
import type { Quota } from '@gatehouse/runtime'
import type { CallerSigner } from '../auth/callers.ts'
import { policy, type Timeouts } from '../policy.ts'
import type { Lane, Replicas } from '../replicas/replicas.ts'

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
  /** Otherwise the service does not get them. */
  readonly readsCookies: boolean
  /** `Authorization` is of the service, no token of a user. The service decides which origins may read. */
  readonly isProtocol: boolean
  readonly limit: RateLimit | undefined
  readonly signer: CallerSigner
  /** The body is ignored, and the request may be repeated. */
  readonly isRead: boolean
  readonly body: {
    readonly maxBytes: number
    /** The service gets it while it is received, and may refuse it by its headers. */
    readonly isStreamed: boolean
    /** Counts what it takes beyond a JSON body. */
    readonly budget?: Quota
  }
  readonly isUpload: boolean
  /** Otherwise a query that is not encoded correctly is refused. */
  readonly anyQuery: boolean
  /** Counts what slow readers leave unread. */
  readonly responseBudget: Quota
  readonly timeoutMs: number
  /** Dropped beside the hop-by-hop fields. */
  readonly droppedFromResponses: ReadonlySet<string> | undefined
}

type OfServices = { replicas: Record<ServiceName, Replicas>; signers: Record<ServiceName, CallerSigner> }
type TargetDeps = OfServices & { timeouts: Timeouts; bufferBudget: Quota }

function targetOf(deps: TargetDeps, endpoint: Endpoint): RouteTarget {
  const { method, path, service, access, right, limit, replies } = endpoint
  const { anyQuery = false, readsToken = false, readsCookies = false } = endpoint
  // What reads cookies uses something up.
  const isRead = method === 'GET' && !readsCookies
  const body = bodyOf(endpoint)
  const repliesBytes = Object.values(replies).some((reply) => reply === 'file' || reply === 'archive')
  return {
    route: `${method} ${path}`,
    service,
    replicas: deps.replicas[service],
    lane: body.isStreamed || repliesBytes ? 'file' : 'json',
    access,
    right,
    readsToken,
    readsCookies,
    isProtocol: false,
    limit,
    signer: deps.signers[service],
    isRead,
    body,
    isUpload: endpoint.body === 'multipart',
    anyQuery,
    responseBudget: deps.bufferBudget,
    timeoutMs: isRead ? deps.timeouts.readMs : deps.timeouts.writeMs,
    droppedFromResponses: undefined,
  }
}

/** Not of this API: the service openid answers it as its standards say. Contract: 3, Applications. */
function protocolTargetOf(deps: TargetDeps, method: string, route: ProtocolRoute): RouteTarget {
  const row = { ...route, name: route.limit.name, method, access: 'anyone', service: 'openid', anyQuery: true }
  const endpoint = { ...row, summary: '', replies: {} } as unknown as Endpoint
  return { ...targetOf(deps, endpoint), isProtocol: true }
}

function bodyOf({ name, body }: Endpoint): RouteTarget['body'] {
  if (body === 'multipart') return { maxBytes: policy.uploadBodyBytes, isStreamed: true }
  if (name === 'relay') return { maxBytes: policy.relayBodyBytes, isStreamed: true }
  return { maxBytes: policy.jsonBodyBytes, isStreamed: false }
}

/** Undefined for an unknown path. `path` is set when it is rewritten. */
export type Route = { target: RouteTarget; path?: string } | { allowed: string[] } | undefined
export type FindRoute = (method: string, path: string) => Route
type Methods = ReadonlyMap<string, { target: RouteTarget }>
type Pattern = { path: string; segments: readonly string[]; methods: Methods }

/** A fixed segment is preferred to a parameter. */
export function createEndpointRoutes(deps: TargetDeps): FindRoute {
  const declared = Object.values(endpoints as Record<string, Endpoint>)
  const byPath: Pattern[] = [...Map.groupBy(declared, ({ path }) => path)].map(([path, own]) => ({
    path,
    segments: path.split('/'),
    methods: new Map<string, { target: RouteTarget }>(own.map((one) => [one.method, { target: targetOf(deps, one) }])),
  }))
  const ofProtocol = Object.values<ProtocolRoute>(protocolRoutes).map((route) => ({
    path: route.path,
    segments: route.path.split('/'),
    methods: new Map(
      route.methods.map((method) => [method as string, { target: protocolTargetOf(deps, method, route) }]),
    ),
  }))
  byPath.push(...ofProtocol)
  const fixedPaths = new Map(byPath.map(({ path, methods }) => [path, methods]))
  // The highest character of ASCII but one sorts a parameter after all fixed segments.
  const sortKey = ({ path }: Pattern): string => path.replaceAll(':', '~')
  const patterns = byPath
    .filter(({ path }) => path.includes(':'))
    .sort((one, other) => (sortKey(one) < sortKey(other) ? -1 : 1))
  return (method, path) => {
    const methods = fixedPaths.get(path) ?? findPattern(patterns, path.split('/'))?.methods
    return methods && (findMethod(methods, method) ?? { allowed: allowedOf(methods) })
  }
}

/** A HEAD never uses up what a GET does. RFC 9110, 9.2.1. */
function findMethod(methods: Methods, method: string) {
  const route = methods.get(method === 'HEAD' ? 'GET' : method)
  return method === 'HEAD' && route && !route.target.isRead ? undefined : route
}

function allowedOf(methods: Methods): string[] {
  const all = [...methods].flatMap(([method, { target }]) => (target.isRead ? [method, 'HEAD'] : [method]))
  return [...new Set([...all, 'OPTIONS'])]
}

function findPattern(patterns: readonly Pattern[], pathSegments: readonly string[]): Pattern | undefined {
  const fits = (segment: string, index: number): boolean =>
    segment === pathSegments[index] || (segment.startsWith(':') && pathSegments[index] !== '')
  return patterns.find(({ segments }) => segments.length === pathSegments.length && segments.every(fits))
}
