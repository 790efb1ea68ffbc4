import type { Deps } from '../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { hostOf, normalizeSignedOrigin } from './signature.ts'

/** Throws origin_invalid, origin_is_own. Contract: 7, handshake, outbound requests. */
export function readPeerOrigin({ publicAddress, reach }: Deps['config'], text: string): string {
  const origin = normalizeSignedOrigin(text.trim())
  if (!origin || hostOf(origin).endsWith('.')) throw refuse.origin_invalid()
  if (origin.startsWith('http:') && reach.allowPrivate.length === 0) throw refuse.origin_invalid()
  if (origin === publicAddress.origin) throw refuse.origin_is_own()
  return origin
}
