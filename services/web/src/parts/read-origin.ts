import { normalizeOrigin } from '@gatehouse/client'

/** The origin of an instance as a person types it, or null. Plain http only where this page came by it too. */
export function readOrigin(typed: string): string | null {
  return normalizeOrigin(typed, { allowHttp: location.protocol === 'http:' })
}
