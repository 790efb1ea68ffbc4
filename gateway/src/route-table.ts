import { endpoints, type Endpoint } from '@gatehouse/contracts'

export type Route = { endpoint: Endpoint } | { allowed: string[] } | undefined

type Node = { fixed: Map<string, Node>; named?: Node; methods: Map<string, { endpoint: Endpoint }> }

const newNode = (): Node => ({ fixed: new Map(), methods: new Map() })

/**
 * Finds the endpoint of a method and path; of a known path with another method, what is allowed there; of an unknown
 * path, nothing. Fixed parts win over parameters; HEAD is answered where GET is.
 */
export function createRouteTable(table: readonly Endpoint[] = Object.values(endpoints)) {
  const root = newNode()
  const fixedPaths = new Map<string, Node>()
  for (const endpoint of table) {
    const leaf = leafFor(root, endpoint.path)
    leaf.methods.set(endpoint.method, { endpoint })
    if (!endpoint.path.includes(':')) fixedPaths.set(endpoint.path, leaf)
  }
  return (method: string, path: string): Route => {
    const node = fixedPaths.get(path) ?? find(root, path.split('/'), 0)
    if (!node) return undefined
    return node.methods.get(method === 'HEAD' ? 'GET' : method) ?? { allowed: allowedOn(node) }
  }
}

function allowedOn({ methods }: Node): string[] {
  return [...[...methods.keys()].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])), 'OPTIONS']
}

function leafFor(root: Node, path: string): Node {
  return path.split('/').reduce((node, part) => {
    if (part.startsWith(':')) return (node.named ??= newNode())
    const next = node.fixed.get(part) ?? newNode()
    node.fixed.set(part, next)
    return next
  }, root)
}

function find(node: Node, parts: readonly string[], depth: number): Node | undefined {
  if (depth === parts.length) return node.methods.size > 0 ? node : undefined
  const part = parts[depth]!
  const fixed = node.fixed.get(part)
  return (
    (fixed && find(fixed, parts, depth + 1)) ??
    (node.named && part !== '' ? find(node.named, parts, depth + 1) : undefined)
  )
}
