import type { Peer } from '@gatehouse/domain'
import { hashToken, isSameSecret } from '../peers/signature.ts'

/**
 * What an offer means in the state that its origin has here. Contract: 7, handshake, asked.
 * - `repeated`: the very secret in force. 200 once proven, and nothing is written.
 * - `exists`: 409 for every sender.
 * - `final`: 403 with the code that ends the other side's attempts.
 * - `completes`: it presents the token of the 202 to our own offer. Its secret is taken once proven.
 * - `crosses`: our own offer is under way. 202, and our own secret is offered again with the token of that 202.
 * - `new`: to be proven, then queued, or answered by an offer of our own.
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

/** `own`: the origin of this instance; `autoAccept`: the setting autoAcceptPeering. */
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
      // Only a decision made here is final: what the other side refused, it may offer itself.
      return peer.reason === 'denied_by_peer' || peer.reason === 'refused_by_peer' ? 'new' : 'final'
    case 'pending':
    case 'awaiting_approval':
      // A handshake that a user caused under autoAcceptPeering is no admin's consent once the setting is off.
      if (!peer.adminDecided && !autoAccept) return 'new'
      return presentsToken(peer, offer) && !yields(peer, offer, own) ? 'completes' : 'crosses'
  }
}

function presentsToken({ approvalTokenHash }: KnownPeer, { approvalToken }: Offer): boolean {
  return !!approvalTokenHash && !!approvalToken && isSameSecret(hashToken(approvalToken), approvalTokenHash)
}

/**
 * Where both sides make a second pass, each would take the secret of the other: the one whose origin sorts first keeps
 * its own and answers 202. docs/decisions/peering.md.
 */
function yields(peer: KnownPeer, offer: Offer, own: string): boolean {
  return !!peer.presentedToken && own < offer.origin
}
