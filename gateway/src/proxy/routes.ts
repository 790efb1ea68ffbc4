import { endpoints, protocolRoutes, type Endpoint, type ProtocolRoute, type ServiceName } from '@gatehouse/contracts'
import type { Quota } from '@gatehouse/runtime'
import type { CallerSigner, FindRoute, RouteTarget } from '../http/route-target.ts'
import { policy, type Timeouts } from '../policy.ts'
import type { Replicas } from '../replicas/replicas.ts'

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
