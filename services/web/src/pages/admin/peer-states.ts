import type { Peer } from '@gatehouse/client'
import type { BadgeTone } from '../../components/status.tsx'
import { t, type Text } from '../../language/language.ts'

export type PeerAct = 'rotate' | 'recheck' | 'reset' | 'revoke' | 'forget'

/** `acts`: what is offered. The API rejects most others with 409 `peer_state`. Contract: 7, states of a peer. */
export const peerStates: Record<Peer['status'], { tone: BadgeTone; label: Text; acts: readonly PeerAct[] }> = {
  active: { tone: 'good', label: 'active', acts: ['rotate', 'revoke'] },
  pending: { tone: 'warning', label: 'pending', acts: ['revoke'] },
  awaiting_approval: { tone: 'warning', label: 'waiting for approval', acts: ['revoke'] },
  unreachable: { tone: 'bad', label: 'unreachable', acts: ['recheck', 'revoke'] },
  needs_attention: { tone: 'bad', label: 'needs attention', acts: ['recheck', 'reset', 'revoke'] },
  rejected: { tone: 'bad', label: 'rejected', acts: ['forget'] },
  revoked: { tone: 'neutral', label: 'revoked', acts: ['forget'] },
}

export const isInTrouble = ({ status }: Pick<Peer, 'status'>): boolean =>
  peerStates[status].tone === 'bad' && status !== 'rejected'

const stateTexts: Partial<Record<Peer['status'], Text>> = {
  pending: 'No response yet. We’ll keep trying.',
  awaiting_approval: 'Waiting for an admin of the other instance.',
  unreachable: 'The other instance isn’t responding. Updates for it will be sent once it responds.',
  revoked: 'The two instances don’t accept requests from each other.',
}

const reasonTexts: Readonly<Record<string, Text>> = {
  denied_by_admin: 'An admin of this instance denied the request.',
  expired: 'The request expired before an admin here decided on it.',
  denied_by_peer: 'The other instance denied the request.',
  expired_by_peer: 'The request expired before an admin of the other instance decided on it.',
  refused_by_peer: 'The other instance doesn’t accept requests from this one.',
  revoked_by_peer: 'The other instance has ended the peering.',
  remote_reset_required: 'The other instance still has an earlier peering with this one. Its admin has to reset it.',
  peer_reset_detected: 'A different instance now responds at this address.',
  repeer_incomplete: 'The other instance accepted, but didn’t prove that it has the shared secret.',
  deliveries_refused: 'The other instance rejects updates from this one.',
}

/** Null when the state says enough. */
export function explainPeer(peer: Pick<Peer, 'status' | 'reason'>): string | null {
  const text = peer.reason ? reasonTexts[peer.reason] : stateTexts[peer.status]
  return text ? t(text) : (peer.reason ?? null)
}
