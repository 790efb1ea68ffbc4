import { readFile } from 'node:fs/promises'
import { upstreamsFile, endpointTable, gatewayPaths, upstreamRoute, type Upstream } from '@gatehouse/contracts'
import { ConfigurationError } from '../config/configuration.ts'

/** The variable with the path of the file. Contract: 8. */
export const upstreamsVariable = 'GATEHOUSE_UPSTREAMS'

/**
 * Throws ConfigurationError with every fault and its place, such as `upstreams[0].routes[1].prefix: …`. Contract: 8,
 * GATEHOUSE_UPSTREAMS.
 */
export async function readUpstreams(path: string): Promise<Upstream[]> {
  const file = await parseYaml(await readText(path))
  const parsed = upstreamsFile.safeParse(file)
  const issues = parsed.success ? [] : parsed.error.issues
  const faults = [...issues.map(({ path, message }) => `${placeOf(path)}${message}`), ...findConflicts(file)]
  if (!parsed.success || faults.length > 0) throw new ConfigurationError(faults)
  return parsed.data.upstreams
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    const fault = `${upstreamsVariable}: cannot read the file that it names; check its path and permissions`
    throw new ConfigurationError([fault], { cause })
  }
}

async function parseYaml(text: string): Promise<unknown> {
  const { parseDocument } = await import('yaml')
  const document = parseDocument(text, { prettyErrors: true })
  if (document.errors.length > 0) {
    throw new ConfigurationError(
      document.errors.map(({ message }) => `${upstreamsVariable}: ${message.split('\n')[0]?.replace(/:$/, '')}`),
    )
  }
  try {
    return document.toJS()
  } catch (cause) {
    throw new ConfigurationError([`${upstreamsVariable}: cannot be read: ${String(cause)}`], { cause })
  }
}

function placeOf(path: readonly PropertyKey[]): string {
  const place = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('')
  return `${place.replace(/^\./, '') || upstreamsVariable}: `
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
  return list(value).flatMap((one, index) => {
    return typeof one === 'string' ? [{ value: one, place: `${place}[${index}]`, owner }] : []
  })
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
  return prefixes.flatMap((prefix, index) => {
    const fault = conflictOf(prefix, prefixes.slice(0, index))
    return fault === undefined ? [] : [`${prefix.place}: ${fault}`]
  })
}

function conflictOf({ value, owner }: Claim, earlier: readonly Claim[]): string | undefined {
  const own = findOwnPath(value)
  if (own !== undefined) return `belongs to Gatehouse (${own})`
  const taken = earlier.find((one) =>
    one.owner === owner ? isSamePrefix(one.value, value) : areNested(one.value, value),
  )
  return taken && `${value} overlaps with ${taken.value} (${taken.place})`
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

const isSamePrefix = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()

const ownPaths: readonly string[] = [...Object.values(endpointTable).map(({ path }) => path), ...gatewayPaths]

export function findOwnPath(prefix: string): string | undefined {
  return ownPaths.find((path) => areNested(prefix, path))
}
