import type { Peer } from '@gatehouse/domain'
import { policy } from '../policy.ts'

/** Whether a handshake that this instance began with the peer is under way at `now`, in milliseconds. */
export function isOffering(peer: Pick<Peer, 'status' | 'offeredAt'>, now: number): boolean {
  if (peer.status !== 'pending' || !peer.offeredAt) return false
  return now - peer.offeredAt.getTime() < policy.offerLifetimeMs
}

/**
 * Of two offers that cross, the one whose origin sorts first is kept: both sides know both origins, so both decide
 * alike. docs/decisions/peering.md.
 */
export function winsTieBreak(own: string, other: string): boolean {
  return own < other
}
