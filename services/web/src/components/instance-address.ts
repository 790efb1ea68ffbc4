import { originOfAddress } from '@gatehouse/client'

/** The host of an origin; any other text unchanged. */
export function hostOf(origin: string): string {
  return URL.parse(origin)?.host ?? origin
}

/** The origin of the instance address that was typed, or null. Plain http only if this page was loaded over it too. */
export function parseInstanceAddress(typed: string): string | null {
  return originOfAddress(typed, { allowHttp: location.protocol === 'http:' })
}
