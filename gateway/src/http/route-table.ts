import type { RouteTarget } from '../proxy/route-target.ts'

/** Undefined for an unknown path. `path` is set when it is rewritten. */
export type Route = { target: RouteTarget; path?: string } | { allowed: string[] } | undefined
export type FindRoute = (method: string, path: string) => Route

export type RouteEntry = { endpoint: { method: string; path: string }; target: RouteTarget }

type TrieNode = { fixed: Map<string, TrieNode>; parameter?: TrieNode; methods: Map<string, { target: RouteTarget }> }

const newNode = (): TrieNode => ({ fixed: new Map(), methods: new Map() })

export function createRouteTable(entries: readonly RouteEntry[]): FindRoute {
  const root = newNode()
  const fixedPaths = new Map<string, TrieNode>()
  for (const { endpoint, target } of entries) {
    const leaf = leafFor(root, endpoint.path)
    leaf.methods.set(endpoint.method, { target })
    if (!endpoint.path.includes(':')) fixedPaths.set(endpoint.path, leaf)
  }
  return (method, path) => {
    const node = fixedPaths.get(path) ?? find(root, path.split('/'), 0)
    if (!node) return undefined
    return node.methods.get(method === 'HEAD' ? 'GET' : method) ?? { allowed: allowedOn(node) }
  }
}

function allowedOn({ methods }: TrieNode): string[] {
  return [...[...methods.keys()].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])), 'OPTIONS']
}

function leafFor(root: TrieNode, path: string): TrieNode {
  return path.split('/').reduce((node, segment) => {
    if (segment.startsWith(':')) return (node.parameter ??= newNode())
    const next = node.fixed.get(segment) ?? newNode()
    node.fixed.set(segment, next)
    return next
  }, root)
}

function find(node: TrieNode, segments: readonly string[], depth: number): TrieNode | undefined {
  const segment = segments[depth]
  if (segment === undefined) return node.methods.size > 0 ? node : undefined
  const fixed = node.fixed.get(segment)
  return (
    (fixed && find(fixed, segments, depth + 1)) ??
    (node.parameter && segment !== '' ? find(node.parameter, segments, depth + 1) : undefined)
  )
}
