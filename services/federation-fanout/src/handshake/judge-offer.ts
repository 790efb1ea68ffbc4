import type { Peer } from '@gatehouse/domain'
import { hashToken, isSameSecret } from '../peers/signature.ts'

/**
 * Contract: 7, handshake, asked. `repeated`: the secret in force, 200. `exists`: 409. `final`: 403, ends the attempts.
 * `completes`: has the token of our 202. `crosses`: our own offer is under way, 202, and is sent again with that token.
 * `new`: must be proven.
 */
export type OfferVerdict = 'repeated' | 'exists' | 'final' | 'completes' | 'crosses' | 'new'

export type Offer = {
  origin: string
  secret: string
  instanceName: string | null
  instanceId: string | null
  approvalToken: string | null
}

type KnownPeer = Pick<
  Peer,
  'status' | 'reason' | 'secret' | 'adminDecided' | 'approvalTokenHash' | 'presentedToken' | 'origin'
>

export function judgeOffer(
  peer: KnownPeer | null,
  offer: Offer,
  { own, autoAccept }: { own: string; autoAccept: boolean },
): OfferVerdict {
  switch (peer?.status) {
    case undefined:
      return 'new'
    case 'active':
      return isSameSecret(peer.secret, offer.secret) ? 'repeated' : 'exists'
    case 'unreachable':
    case 'needs_attention':
      return 'exists'
    case 'revoked':
      return 'final'
    case 'rejected':
      // What the other side refused, it may offer itself.
      return peer.reason?.endsWith('_by_peer') ? 'new' : 'final'
    case 'pending':
    case 'awaiting_approval':
      if (!peer.adminDecided && !autoAccept) return 'new'
      return presentsToken(peer, offer) && !yields(peer, offer, own) ? 'completes' : 'crosses'
  }
}

function presentsToken({ approvalTokenHash }: KnownPeer, { approvalToken }: Offer): boolean {
  return !!approvalTokenHash && !!approvalToken && isSameSecret(hashToken(approvalToken), approvalTokenHash)
}

/** Without this, both would take the other's secret. docs/decisions/peering.md. */
function yields(peer: KnownPeer, offer: Offer, own: string): boolean {
  return !!peer.presentedToken && own < offer.origin
}
