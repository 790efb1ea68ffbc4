import type { Upstream, UpstreamRoute } from '@gatehouse/contracts'
import { invalidInput } from '@gatehouse/runtime'
import { normalizePath } from '../http/request-target.ts'
import type { FindRoute } from '../http/route-table.ts'
import type { RouteTarget } from '../proxy/route-target.ts'

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
const allowed = [...methods, 'OPTIONS']

type TargetOf = (upstream: Upstream, route: UpstreamRoute, method: string) => RouteTarget

/** The longest prefix wins. Case is ignored, because a service may ignore it. Throws invalid_input. Contract: 8. */
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
    if (/\/\//.test(normalized))
      throw invalidInput({ field: 'address', reason: 'malformed' }, { text: 'The address has an empty segment' })
    const target = targets.get(method)
    return target ? { target, path: normalized } : { allowed }
  }
}

function findLongest<T>(routes: ReadonlyMap<string, T>, segments: readonly string[]): T | undefined {
  for (let length = segments.length; length > 2; length -= 1) {
    const found = routes.get(segments.slice(0, length).join('/'))
    if (found) return found
  }
  return undefined
}
