import { subscribe } from 'node:diagnostics_channel'
import { endpoints, refusalsOf, type Endpoint } from '@gatehouse/contracts'

/** Each as `POST /path: code`. */
export type SeenRefusals = {
  /** The endpoint does not declare them. */
  undeclared: Set<string>
  /** The endpoint declares them for itself. */
  declared: Set<string>
}

const byRoute = new Map<string, Endpoint>(
  Object.values<Endpoint>(endpoints).map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint]),
)

/** Collects the refusals that endpoints of this process give. */
export function watchRefusals(channel = 'gatehouse:refusal'): SeenRefusals {
  const refusals: SeenRefusals = { undeclared: new Set(), declared: new Set() }
  subscribe(channel, (message) => {
    const { route, code } = message as { route: string; code: string }
    const endpoint = byRoute.get(route)
    if (!endpoint) return
    if (!new Set<string>(refusalsOf(endpoint)).has(code)) refusals.undeclared.add(`${route}: ${code}`)
    else refusals.declared.add(`${route}: ${code}`)
  })
  return refusals
}

/** What endpoints declare for themselves, and `observed` lacks. */
export function findUngiven(observed: ReadonlySet<string>): string[] {
  const declared = [...byRoute].flatMap(([route, { refusals = [] }]) => refusals.map((code) => `${route}: ${code}`))
  return declared.filter((refusal) => !observed.has(refusal)).sort()
}
