import { isIP } from 'node:net'
import { promises as dns } from 'node:dns'
import { isPublicAddress, resolveAddresses, type AllowList, type ResolveTable } from './addresses.ts'

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
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  const entry = guard.table.get(host)
  const addresses = entry ? [entry.address] : await addressesOf(guard.lookup, host)
  const isHttps = url.protocol === 'https:'
  const isOpen = (address: string) => guard.allowed.covers(address) || (isHttps && isPublicAddress(address))
  if (!addresses.every(isOpen))
    throw new OutboundFailure('forbidden_address', `${url.host} leads to a forbidden address`)
  return { origin: url.origin, addresses: addresses.toSorted(), port: entry?.port }
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
    addressesOf: async (host) => (isLocalhost(host) ? ['127.0.0.1', '::1'] : await resolveAddresses(resolver, host)),
    close: () => resolver.cancel(),
  }
}

/** Name servers need not know these names (RFC 6761). */
const isLocalhost = (host: string): boolean => host === 'localhost' || host.endsWith('.localhost')
