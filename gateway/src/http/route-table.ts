import type { RouteTarget } from '../proxy/route-target.ts'

/** Undefined for an unknown path. `path` is set when it is rewritten. */
export type Route = { target: RouteTarget; path?: string } | { allowed: string[] } | undefined
export type FindRoute = (method: string, path: string) => Route

export type RouteEntry = { endpoint: { method: string; path: string }; target: RouteTarget }

type Methods = ReadonlyMap<string, { target: RouteTarget }>
type Pattern = { path: string; segments: readonly string[]; methods: Methods }

/** A fixed segment is preferred to a parameter. */
export function createRouteTable(entries: readonly RouteEntry[]): FindRoute {
  const byPath = [...Map.groupBy(entries, ({ endpoint }) => endpoint.path)].map(([path, own]) => ({
    path,
    segments: path.split('/'),
    methods: new Map(own.map(({ endpoint, target }) => [endpoint.method, { target }])),
  }))
  const fixedPaths = new Map(byPath.map(({ path, methods }) => [path, methods]))
  // The highest character of ASCII but one sorts a parameter after all fixed segments.
  const sortKey = ({ path }: Pattern): string => path.replaceAll(':', '~')
  const patterns = byPath
    .filter(({ path }) => path.includes(':'))
    .sort((one, other) => (sortKey(one) < sortKey(other) ? -1 : 1))
  return (method, path) => {
    const methods = fixedPaths.get(path) ?? findPattern(patterns, path.split('/'))?.methods
    return methods && (methods.get(method === 'HEAD' ? 'GET' : method) ?? { allowed: allowedOf(methods) })
  }
}

function allowedOf(methods: Methods): string[] {
  return [...[...methods.keys()].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])), 'OPTIONS']
}

function findPattern(patterns: readonly Pattern[], given: readonly string[]): Pattern | undefined {
  return patterns.find(
    ({ segments }) =>
      segments.length === given.length &&
      segments.every((segment, index) => segment === given[index] || (segment.startsWith(':') && given[index] !== '')),
  )
}
