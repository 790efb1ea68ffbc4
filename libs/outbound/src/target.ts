import { isIP } from 'node:net'
import { promises as dns } from 'node:dns'
import { isPublicAddress, normalizeHostName, parseAllowList, resolveAddresses } from './addresses.ts'
import type { AllowList, OutboundConfig, ResolveTable } from './addresses.ts'

export type OutboundFailureKind =
  'forbidden_address' | 'invalid_url' | 'unresolved' | 'timeout' | 'unreachable' | 'too_large' | 'redirect'

/** The cause is for the log; callers match the kind. */
export class OutboundFailure extends Error {
  override readonly name = 'OutboundFailure'
  readonly kind: OutboundFailureKind

  constructor(kind: OutboundFailureKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.kind = kind
  }
}

/** Connections go to these addresses only. */
export type Target = { origin: string; addresses: string[]; port: number | undefined }
type Guard = { allowed: AllowList; table: Map<string, ResolveTable[string]>; lookup: Pick<Lookup, 'addressesOf'> }

/** Throws OutboundFailure `invalid_url`, also for credentials. */
export function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isHttp = url?.protocol === 'https:' || url?.protocol === 'http:'
  if (!url || !isHttp) throw new OutboundFailure('invalid_url', 'Only http and https URLs can be requested')
  if (url.username || url.password) throw new OutboundFailure('invalid_url', 'URLs with credentials are refused')
  return url
}

/**
 * Throws OutboundFailure: `unresolved` for a name that name servers do not know, `unreachable` without an address,
 * `forbidden_address` when one of them is not allowed. Contract: 7, outbound requests.
 */
export async function resolveTarget(guard: Guard, url: URL): Promise<Target> {
  const host = hostOf(url)
  const entry = guard.table.get(host)
  const addresses = entry ? [entry.address] : await addressesOf(guard.lookup, host)
  if (!areOpen(guard, url, addresses))
    throw new OutboundFailure('forbidden_address', `${url.host} leads to a forbidden address`)
  return { origin: url.origin, addresses: addresses.toSorted(), port: entry?.port }
}

const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')

function areOpen({ allowed }: Pick<Guard, 'allowed'>, { protocol }: URL, addresses: readonly string[]): boolean {
  return addresses.every((address) => allowed.covers(address) || (protocol === 'https:' && isPublicAddress(address)))
}

/**
 * False: whatever name servers say, no request may go there. Without a lookup: of names only the own computer and the table count.
 * Throws OutboundFailure `invalid_url`, and for a faulty config.
 */
export function mayReach({ allowPrivate, resolve }: OutboundConfig, text: string): boolean {
  const url = parseUrl(text)
  const host = hostOf(url)
  const entry = readTable(resolve).get(host)
  const own = isLocalhost(host) ? ownAddresses : isIP(host) === 0 ? [] : [host]
  return areOpen({ allowed: parseAllowList(allowPrivate) }, url, entry ? [entry.address] : own)
}

export function readTable(table: ResolveTable): Map<string, ResolveTable[string]> {
  const entries = Object.entries(table).map(([name, place]): [string, ResolveTable[string]] => {
    const host = normalizeHostName(name)
    if (host === undefined) throw new Error(`"${name}" is not a host name`)
    return [host, place]
  })
  return new Map(entries)
}

/** Answers of name servers. A name server that is silent says nothing about the name. */
const noSuchName = new Set(['ENOTFOUND', 'ENODATA'])

async function addressesOf(lookup: Guard['lookup'], host: string): Promise<string[]> {
  if (isIP(host) !== 0) return [host]
  const addresses = await lookup.addressesOf(host).catch((cause: unknown) => {
    const isUnknown = noSuchName.has((cause as NodeJS.ErrnoException).code ?? '')
    throw new OutboundFailure(isUnknown ? 'unresolved' : 'unreachable', `${host} cannot be resolved`, cause)
  })
  if (addresses.length === 0) throw new OutboundFailure('unreachable', `${host} has no address`)
  return addresses
}

export type Lookup = { addressesOf(host: string): Promise<string[]>; close(): void }

/** The limit of one attempt of two. */
const attemptMs = 1_500

/** The lookup of the system shares its threads with file access. A few silent name servers would delay both. */
export function createDnsLookup(nameServers?: string[]): Lookup {
  const resolver = new dns.Resolver({ timeout: attemptMs, maxTimeout: attemptMs, tries: 2 })
  if (nameServers) resolver.setServers(nameServers)
  return {
    addressesOf: async (host) => (isLocalhost(host) ? [...ownAddresses] : await resolveAddresses(resolver, host)),
    close: () => resolver.cancel(),
  }
}

const ownAddresses = ['127.0.0.1', '::1'] as const

/** Name servers need not know these names (RFC 6761). */
const isLocalhost = (host: string): boolean => host === 'localhost' || host.endsWith('.localhost')
