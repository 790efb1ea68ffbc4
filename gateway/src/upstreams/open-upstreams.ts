import { isDeepStrictEqual } from 'node:util'
import { signCallerStatement, type Caller, type StatementKeys } from '@gatehouse/auth'
import type { Upstream, UpstreamRoute } from '@gatehouse/contracts'
import { createQuota, type Quota } from '@gatehouse/runtime'
import type { UpstreamsWatch } from '@gatehouse/service-kit'
import { LRUCache } from 'lru-cache'
import type { FindRoute } from '../http/route-table.ts'
import { policy, type Timeouts } from '../policy.ts'
import { namesIn } from '../proxy/proxy-headers.ts'
import { openReplicas, type ReplicaOptions, type Replicas } from '../replicas/replicas.ts'
import type { CallerSigner, RouteTarget } from '../proxy/route-target.ts'
import { createUpstreamRoutes } from './upstream-routes.ts'

/** Contract: 8, GATEHOUSE_UPSTREAMS. */
export type Upstreams = AsyncDisposable & {
  /** Throws invalid_input for ambiguous paths. */
  readonly findRoute: FindRoute
  /** Includes removed upstreams that may still answer. */
  replicas(): Replicas[]
}

type Options = ReplicaOptions & {
  watch: UpstreamsWatch
  issuer: string
  keys: StatementKeys
  timeouts: Timeouts
}

/** Upstreams share no connections and no memory. Design: invariant 10. */
type OpenUpstream = {
  origins: readonly string[]
  replicas: Replicas
  signer: CallerSigner
  bodyBudget: Quota
  responseBudget: Quota
}

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

/** Resolves when the addresses are known, or late. */
export async function openUpstreams(options: Options): Promise<Upstreams> {
  const { watch } = options
  const open = new Map<string, OpenUpstream>()
  let findRoute: FindRoute = () => undefined

  async function apply(upstreams: readonly Upstream[]): Promise<void> {
    const names = new Set(upstreams.map(({ name }) => name))
    const removed = [...open.keys()].filter((name) => !names.has(name)).map((name) => ({ name, origins: [] }))
    // Requests under way of a removed upstream end normally.
    const followed = [...upstreams, ...removed].map(follow)
    findRoute = createUpstreamRoutes(upstreams, (upstream, route, method) => targetOf(upstream, route, method))
    await Promise.all(followed)
  }

  async function follow({ name, origins }: Pick<Upstream, 'name' | 'origins'>): Promise<void> {
    const known = open.get(name) ?? openOne(options, name)
    open.set(name, known)
    if (isDeepStrictEqual(known.origins, origins)) return
    known.origins = origins
    await known.replicas.follow(origins)
  }

  function targetOf({ name }: Upstream, route: UpstreamRoute, method: string): RouteTarget {
    const known = open.get(name)
    if (!known) throw new Error(`the upstream ${name} is not open`)
    return upstreamTarget(known, { name, route, method, timeouts: options.timeouts })
  }

  const stopFollowing = watch.onChange((upstreams) => void apply(upstreams))
  await apply(watch.current)
  return {
    findRoute: (method, path) => findRoute(method, path),
    replicas: () => [...open.values()].map(({ replicas }) => replicas),
    [Symbol.asyncDispose]: async () => {
      stopFollowing()
      await Promise.all([...open.values()].map(({ replicas }) => replicas[Symbol.asyncDispose]()))
    },
  }
}

function openOne(options: Options, name: string): OpenUpstream {
  const { bufferedBytesPerNetwork, bufferedBytes } = options.capacity
  return {
    origins: [],
    replicas: openReplicas(options),
    signer: createStatementSigner(options, name),
    bodyBudget: createQuota(bufferedBytesPerNetwork, bufferedBytes),
    responseBudget: createQuota(bufferedBytesPerNetwork),
  }
}

/** Signing costs as much as the rest of a request. */
function createStatementSigner({ keys, issuer, clock }: Options, audience: string): CallerSigner {
  const ofAddresses = new LRUCache<string, { statement: string; reuseUntil: number }>({ max: policy.cachedStatements })

  function signAnonymous(caller: Caller): string {
    const now = clock.now()
    const last = ofAddresses.get(caller.address)
    if (last && last.reuseUntil > now) return last.statement
    const statement = signCallerStatement(keys, caller, { issuer, audience, now })
    ofAddresses.set(caller.address, { statement, reuseUntil: now + policy.callerTokenReuseMs })
    return statement
  }

  return {
    sign: (caller) =>
      caller.account
        ? signCallerStatement(keys, caller, { issuer, audience, now: clock.now() })
        : signAnonymous(caller),
  }
}

function upstreamTarget(
  { replicas, signer, bodyBudget, responseBudget }: OpenUpstream,
  at: { name: string; route: UpstreamRoute; method: string; timeouts: Timeouts },
): RouteTarget {
  const { name, route, timeouts } = at
  const { prefix, access, limit } = route
  const isRead = at.method === 'GET' || at.method === 'HEAD'
  return {
    route: `${isRead ? 'GET' : at.method} ${prefix}`,
    service: name,
    replicas,
    lane: 'json',
    access: access === 'user' ? 'bearer' : access,
    readsToken: true,
    limit: {
      name: `${name} ${prefix}`,
      requests: limit.requests,
      windowSeconds: limit.seconds,
      ...(access !== 'anyone' && { by: 'account' as const }),
    },
    signer,
    isRead,
    body: { maxBytes: route.bodyBytes, isStreamed: false, budget: bodyBudget },
    isUpload: false,
    anyQuery: false,
    responseBudget,
    timeoutMs: route.timeoutMs ?? (isRead ? timeouts.readMs : timeouts.writeMs),
    droppedFromResponses,
  }
}
