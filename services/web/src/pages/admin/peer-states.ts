import type { Peer } from '@gatehouse/client'
import type { BadgeTone } from '../../components/status.tsx'
import { t, type Text } from '../../language/language.ts'

export type PeerAct = 'rotate' | 'recheck' | 'reset' | 'revoke' | 'forget'

/** Contract: 7, states of a peer. */
export const peerStates: Record<Peer['status'], { tone: BadgeTone; label: Text; acts: readonly PeerAct[] }> = {
  active: { tone: 'good', label: 'active', acts: ['rotate', 'revoke'] },
  pending: { tone: 'warning', label: 'pending', acts: ['revoke'] },
  awaiting_approval: { tone: 'warning', label: 'awaiting approval', acts: ['revoke'] },
  unreachable: { tone: 'bad', label: 'unreachable', acts: ['recheck', 'revoke'] },
  needs_attention: { tone: 'bad', label: 'needs attention', acts: ['recheck', 'reset', 'revoke'] },
  rejected: { tone: 'bad', label: 'rejected', acts: ['forget'] },
  revoked: { tone: 'neutral', label: 'revoked', acts: ['forget'] },
}

export const isInTrouble = ({ status }: Pick<Peer, 'status'>): boolean =>
  peerStates[status].tone === 'bad' && status !== 'rejected'

const stateTexts: Partial<Record<Peer['status'], Text>> = {
  pending: 'The request has not been answered yet; it is repeated.',
  awaiting_approval: 'An admin of the other instance decides.',
  unreachable: 'It does not answer. What is to be delivered waits until it does.',
  revoked: 'The two instances refuse each other’s requests.',
}

const reasonTexts: Readonly<Record<string, Text>> = {
  denied_by_admin: 'An admin of this instance denied the request.',
  expired: 'Nobody decided on the request in time.',
  denied_by_peer: 'The other instance denied the request.',
  expired_by_peer: 'Nobody decided on the request there in time.',
  refused_by_peer: 'The other instance refuses requests of this one.',
  revoked_by_peer: 'The other instance has ended the peering.',
  remote_reset_required: 'The other instance has a peering with this one already: its admin must reset it.',
  peer_reset_detected: 'Another instance answers at this address than before.',
  repeer_incomplete: 'The other instance accepted, but did not prove that it holds the secret.',
  deliveries_refused: 'The other instance refuses what is delivered to it.',
}

/** Null when the state says enough. */
export function explainPeer(peer: Pick<Peer, 'status' | 'reason'>): string | null {
  const text = peer.reason ? reasonTexts[peer.reason] : stateTexts[peer.status]
  return text ? t(text) : (peer.reason ?? null)
}
