import { subscribe } from 'node:diagnostics_channel'
import { endpoints, refusalsOf, type Endpoint } from '@gatehouse/contracts'

const declared = new Map<string, ReadonlySet<string>>(
  Object.values<Endpoint>(endpoints).map((endpoint) => [`${endpoint.method} ${endpoint.path}`, refusalsOf(endpoint)]),
)

/** Collects, as `POST /path: code`, the refusals of this process that their endpoints do not declare. */
export function watchRefusals(channel = 'gatehouse:refusal'): Set<string> {
  const undeclared = new Set<string>()
  subscribe(channel, (message) => {
    const { route, code } = message as { route: string; code: string }
    if (declared.get(route)?.has(code) === false) undeclared.add(`${route}: ${code}`)
  })
  return undeclared
}
