import { endpointTable, gatewayPaths } from '@gatehouse/contracts'
import { ConfigurationError, placeOf, readYaml, watchFile, type FileWatch, type Log } from '@gatehouse/service-kit'
import { upstreamRoute, upstreamsFile, type Upstream } from './contract.ts'

export type UpstreamsWatch = FileWatch<readonly Upstream[]>

export const noUpstreams: UpstreamsWatch = {
  current: [],
  onChange: () => () => undefined,
  [Symbol.dispose]: () => undefined,
}

/** Reads the file, and again on each SIGHUP. Throws ConfigurationError. Contract: 8, settings, GATEHOUSE_UPSTREAMS. */
export async function watchUpstreams(path: string, { log }: { log: Log }): Promise<UpstreamsWatch> {
  const names = (upstreams: readonly Upstream[]) => upstreams.map(({ name }) => name)
  return await watchFile(() => readUpstreams(path), { log, what: 'upstreams', names })
}

/** The variable with the path of the file. Contract: 8, settings. */
export const upstreamsVariable = 'GATEHOUSE_UPSTREAMS'

/** Throws ConfigurationError with every fault and its place: `upstreams[0].routes[1].prefix: …`. Contract: 8, settings, GATEHOUSE_UPSTREAMS. */
export async function readUpstreams(path: string): Promise<Upstream[]> {
  const file = await readYaml(path, upstreamsVariable)
  const parsed = upstreamsFile.safeParse(file)
  const issues = parsed.error?.issues ?? []
  const faults = [
    ...issues.map(({ path, message }) => `${placeOf(path, upstreamsVariable)}${message}`),
    ...findConflicts(file),
  ]
  if (!parsed.success || faults.length > 0) throw new ConfigurationError(faults)
  return parsed.data.upstreams
}

type Claim = { value: string; place: string; owner: number }

/** Compares entries with other faults too, so that all faults are named at once. */
function findConflicts(file: unknown): string[] {
  const upstreams = list(field(file, 'upstreams'))
  const claimsOf = (name: 'name' | 'messages' | 'ready'): Claim[] =>
    upstreams.flatMap((entry, owner) => claimsIn(field(entry, name), `upstreams[${owner}].${name}`, owner))
  return [
    ...findRepeated(claimsOf('name')),
    ...findRouteConflicts(upstreams),
    ...findRepeated(claimsOf('messages')),
    ...findRepeated(claimsOf('ready')),
  ]
}

function claimsIn(value: unknown, place: string, owner: number): Claim[] {
  if (typeof value === 'string') return [{ value, place, owner }]
  return list(value).flatMap((one, at) => (typeof one === 'string' ? claimsIn(one, `${place}[${at}]`, owner) : []))
}

function findRepeated(claims: readonly Claim[]): string[] {
  return claims.flatMap(({ value, place, owner }, index) => {
    const earlier = claims.slice(0, index).find((one) => one.value === value && one.owner !== owner)
    return earlier ? [`${place}: ${value} is taken already (${earlier.place})`] : []
  })
}

function findRouteConflicts(upstreams: readonly unknown[]): string[] {
  const prefixes = upstreams.flatMap((entry, owner) =>
    list(field(entry, 'routes')).flatMap((route, index): Claim[] => {
      const parsed = upstreamRoute.shape.prefix.safeParse(field(route, 'prefix'))
      const place = `upstreams[${owner}].routes[${index}].prefix`
      return parsed.success ? [{ value: parsed.data, place, owner }] : []
    }),
  )
  return prefixes.flatMap(({ value, place, owner }, index) => {
    const own = findOwnPath(value)
    if (own !== undefined) return [`${place}: belongs to Gatehouse (${own})`]
    const isSamePrefix = (other: string): boolean => other.toLowerCase() === value.toLowerCase()
    const overlaps = (one: Claim) => (one.owner === owner ? isSamePrefix(one.value) : areNested(one.value, value))
    const taken = prefixes.slice(0, index).find(overlaps)
    return taken ? [`${place}: ${value} overlaps with ${taken.value} (${taken.place})`] : []
  })
}

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined
}

/** Services may ignore the case of a path. */
const segmentsOf = (path: string): string[] => path.toLowerCase().split('/').slice(1)

export function areNested(one: string, other: string): boolean {
  const others = segmentsOf(other)
  return segmentsOf(one)
    .slice(0, others.length)
    .every((segment, index) => isSame(segment, others[index] ?? segment))
}

const isSame = (one: string, other: string): boolean => one === other || one.startsWith(':') || other.startsWith(':')
const ownPaths: readonly string[] = [...Object.values(endpointTable).map(({ path }) => path), ...gatewayPaths]

export function findOwnPath(prefix: string): string | undefined {
  return ownPaths.find((path) => areNested(prefix, path))
}
