import { isIP } from 'node:net'
import { isPublicAddress } from './addresses.ts'
import type { AllowList } from './addresses.ts'
import type { Lookup } from './lookup.ts'
import { OutboundFailure } from './outbound-failure.ts'
import type { ResolveTable } from './resolve-table.ts'

/** Connections go to these addresses only. */
export type Target = { origin: string; addresses: string[]; port: number | undefined }

type Guard = { allowed: AllowList; table: Map<string, ResolveTable[string]>; lookup: Pick<Lookup, 'addressesOf'> }

/** Throws OutboundFailure `invalid_url`, also for credentials. */
export function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new OutboundFailure('invalid_url', 'Only http and https URLs can be requested')
  }
  if (url.username !== '' || url.password !== '') {
    throw new OutboundFailure('invalid_url', 'URLs with credentials are refused')
  }
  return url
}

/**
 * Throws OutboundFailure: `unreachable` without an address, `forbidden_address` when one of them is not allowed.
 * Contract: 7, outbound requests.
 */
export async function resolveTarget(guard: Guard, url: URL): Promise<Target> {
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  const entry = guard.table.get(host)
  const addresses = entry ? [entry.address] : await addressesOf(guard.lookup, host)
  const isOpen = (address: string) =>
    guard.allowed.covers(address) || (url.protocol === 'https:' && isPublicAddress(address))
  if (!addresses.every(isOpen))
    throw new OutboundFailure('forbidden_address', `${url.host} leads to a forbidden address`)
  return { origin: url.origin, addresses: addresses.toSorted(), port: entry?.port }
}

async function addressesOf(lookup: Guard['lookup'], host: string): Promise<string[]> {
  if (isIP(host) !== 0) return [host]
  const addresses = await lookup.addressesOf(host).catch((cause: unknown) => {
    throw new OutboundFailure('unreachable', `${host} cannot be resolved`, cause)
  })
  if (addresses.length === 0) throw new OutboundFailure('unreachable', `${host} has no address`)
  return addresses
}
