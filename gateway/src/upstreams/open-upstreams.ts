import { isDeepStrictEqual } from 'node:util'
import { createQuota, invalidInput } from '@gatehouse/runtime'
import type { Upstream, UpstreamRoute, UpstreamsWatch } from '@gatehouse/upstreams'
import type { CallerSigners } from '../auth/callers.ts'
import { namesIn } from '../http/headers.ts'
import { normalizePath } from '../http/request-target.ts'
import type { FindRoute, RouteTarget } from '../http/route-target.ts'
import type { Timeouts } from '../policy.ts'
import { openReplicas, type ReplicaOptions, type Replicas } from '../replicas/replicas.ts'

export type Upstreams = Awaited<ReturnType<typeof openUpstreams>>
type Options = ReplicaOptions & { watch: UpstreamsWatch; callerSigners: CallerSigners; timeouts: Timeouts }
type OpenUpstream = ReturnType<typeof openOne>

/** Headers of the gateway, and headers that apply to the whole origin. */
const droppedFromResponses: ReadonlySet<string> = new Set(
  namesIn(
    'set-cookie set-cookie2 set-login clear-site-data service-worker-allowed',
    'strict-transport-security alt-svc origin-agent-cluster accept-ch critical-ch speculation-rules',
    'access-control-allow-origin access-control-allow-credentials access-control-allow-methods',
    'access-control-allow-headers access-control-expose-headers access-control-max-age',
    'cross-origin-resource-policy x-content-type-options referrer-policy www-authenticate',
    'x-gatehouse-caller ratelimit-limit ratelimit-remaining ratelimit-reset',
    // These send reports about all requests to the origin.
    'nel report-to reporting-endpoints',
    // A proxy before the gateway would send its own files.
    'x-accel-redirect x-sendfile x-lighttpd-send-file',
  ),
)

/** Resolves when the addresses are known, or late. Contract: 8, settings, GATEHOUSE_UPSTREAMS. */
export async function openUpstreams(options: Options) {
  const { watch } = options
  const open = new Map<string, OpenUpstream>()
  let findRoute: FindRoute = () => undefined

  async function apply(upstreams: readonly Upstream[]): Promise<void> {
    const names = new Set(upstreams.map(({ name }) => name))
    const removed = [...open.keys()].filter((name) => !names.has(name)).map((name) => ({ name, origins: [] }))
    // Requests under way of a removed upstream end normally.
    const followed = [...upstreams, ...removed].map(follow)
    findRoute = createUpstreamRoutes(upstreams, ({ name }, route, method) => {
      const known = open.get(name)
      if (!known) throw new Error(`the upstream ${name} is not open`)
      return targetOf(known, { name, route, method, timeouts: options.timeouts })
    })
    await Promise.all(followed)
  }

  async function follow({ name, origins }: Pick<Upstream, 'name' | 'origins'>): Promise<void> {
    const entry = open.get(name) ?? openOne(options, name)
    open.set(name, entry)
    if (isDeepStrictEqual(entry.origins, origins)) return
    entry.origins = origins
    await entry.replicas.follow(origins)
  }

  const stopFollowing = watch.onChange((upstreams) => void apply(upstreams))
  await apply(watch.current)
  return {
    /** Throws invalid_input for ambiguous paths. */
    findRoute: (method: string, path: string) => findRoute(method, path),
    /** Includes removed upstreams that may still answer. */
    replicas: (): Replicas[] => [...open.values()].map(({ replicas }) => replicas),
    [Symbol.asyncDispose]: async (): Promise<void> => {
      stopFollowing()
      await Promise.all([...open.values()].map(({ replicas }) => replicas[Symbol.asyncDispose]()))
    },
  }
}

/** Upstreams share no connections and no memory. Design: invariant 10. */
function openOne(options: Options, name: string) {
  const { bufferedBytesPerNetwork, bufferedBytes } = options.capacity
  return {
    origins: [] as readonly string[],
    replicas: openReplicas(options),
    signer: options.callerSigners.forUpstream(name),
    bodyBudget: createQuota(bufferedBytesPerNetwork, bufferedBytes),
    responseBudget: createQuota(bufferedBytesPerNetwork),
  }
}

type Declared = { name: string; route: UpstreamRoute; method: string; timeouts: Timeouts }

function targetOf(known: OpenUpstream, { name, route, method, timeouts }: Declared): RouteTarget {
  const isRead = method === 'GET' || method === 'HEAD'
  const { prefix, access, limit } = route
  const { readMs, writeMs } = timeouts
  return {
    route: `${isRead ? 'GET' : method} ${prefix}`,
    service: name,
    replicas: known.replicas,
    lane: 'json',
    access: access === 'user' ? 'bearer' : access,
    right: undefined,
    readsToken: true,
    readsCookies: false,
    isProtocol: false,
    limit: {
      name: `${name} ${prefix}`,
      requests: limit.requests,
      windowSeconds: limit.seconds,
      ...(access !== 'anyone' && { by: 'account' as const }),
    },
    signer: known.signer,
    isRead,
    body: { maxBytes: route.bodyBytes, isStreamed: false, budget: known.bodyBudget },
    isUpload: false,
    anyQuery: false,
    responseBudget: known.responseBudget,
    timeoutMs: route.timeoutMs ?? (isRead ? readMs : writeMs),
    droppedFromResponses,
  }
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

type TargetOf = (upstream: Upstream, route: UpstreamRoute, method: string) => RouteTarget

/** The longest prefix wins. Case is ignored, because a service may ignore it. Throws invalid_input. Contract: 8, settings, GATEHOUSE_UPSTREAMS. */
export function createUpstreamRoutes(upstreams: readonly Upstream[], targetOf: TargetOf): FindRoute {
  const routes = new Map<string, Map<string, RouteTarget>>()
  for (const upstream of upstreams) {
    for (const route of upstream.routes) {
      const targets = methods.map((method) => [method, targetOf(upstream, route, method)] as const)
      routes.set(route.prefix.toLowerCase(), new Map(targets))
    }
  }
  const depth = Math.max(0, ...[...routes.keys()].map((prefix) => prefix.split('/').length))
  return (method, path) => {
    if (routes.size === 0 || !path.startsWith('/api/')) return undefined
    const normalized = normalizePath(path)
    const targets = findLongest(routes, normalized.toLowerCase().split('/', depth))
    if (!targets) return undefined
    if (normalized.includes('//'))
      throw invalidInput({ field: 'address', reason: 'malformed' }, { text: 'The address has an empty segment' })
    const target = targets.get(method)
    return target ? { target, path: normalized } : { allowed: [...methods, 'OPTIONS'] }
  }
}

function findLongest<T>(routes: ReadonlyMap<string, T>, segments: readonly string[]): T | undefined {
  for (let length = segments.length; length > 2; length -= 1) {
    const route = routes.get(segments.slice(0, length).join('/'))
    if (route) return route
  }
  return undefined
}
