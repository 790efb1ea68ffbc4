import type { EndpointDeclaration } from '../define.ts'
import * as federation from '../federation.ts'
import * as relay from '../relay.ts'
import { idParams } from '../text.ts'
import { successReply } from '../users.ts'
import type { EndpointName } from './table.ts'

/** Contract: 7. */
export const federationDeclarations = {
  deleteIdentity: {
    summary: 'Delete the account of a user of the calling peer',
    body: federation.deleteIdentityBody,
    replies: { 200: federation.deleteIdentityReply },
    refusals: ['foreign_identity', 'owns_spaces', 'upstream_unavailable'],
  },
  receiptKeys: {
    summary: 'The Ed25519 keys of receipts, the one in force first',
    replies: { 200: federation.receiptKeysReply },
  },
  epoch: {
    summary: 'Prove that this instance holds the shared secret',
    replies: { 200: federation.epochReply },
    refusals: ['signature_headers_missing'],
  },
  resolveStub: {
    summary: 'Find or create the local stub of a remote user',
    body: federation.resolveStubBody,
    replies: { 200: federation.resolveStubReply, 201: federation.resolveStubReply },
    refusals: ['not_found', 'home_instance_invalid', 'foreign_identity', 'username_taken', 'rate_limited'],
  },
  acceptPeer: {
    summary: 'Offer a peering to this instance',
    body: federation.acceptPeerBody,
    replies: { 200: federation.acceptPeerReply, 202: federation.acceptPeerPendingReply },
    refusals: [
      'origin_invalid',
      'origin_is_own',
      'offer_exists',
      'peering_final',
      'origin_not_proven',
      'too_many_offers',
    ],
  },
  initiatePeer: {
    summary: 'Offer a peering to another instance',
    body: federation.remoteOriginBody,
    replies: { 200: federation.onePeerReply, 202: federation.onePeerReply },
    refusals: [
      'origin_invalid',
      'origin_is_own',
      'peer_exists',
      'peer_needs_reset',
      'handshake_overtaken',
      'remote_refused',
      'remote_unresolved',
      'remote_unreachable',
      'remote_unproven',
      'remote_clock',
    ],
  },
  listPeers: { summary: 'The peers, without their secrets', replies: { 200: federation.peersReply } },
  revokePeer: {
    summary: 'Revoke a peer',
    params: idParams,
    replies: { 200: successReply },
    refusals: ['not_found', 'peer_state'],
  },
  listApprovalRequests: {
    summary: 'Peering requests that wait for an admin',
    replies: { 200: federation.approvalRequestsReply },
  },
  approveRequest: {
    summary: 'Approve a peering request',
    params: idParams,
    replies: { 200: successReply },
    refusals: [
      'not_found',
      'request_decided',
      'peer_exists',
      'peer_needs_reset',
      'handshake_overtaken',
      'origin_invalid',
      'remote_refused',
      'remote_unresolved',
      'remote_unreachable',
      'remote_unproven',
      'remote_clock',
    ],
  },
  denyRequest: {
    summary: 'Deny a peering request',
    params: idParams,
    replies: { 200: successReply },
    refusals: ['not_found', 'request_decided'],
  },
  patchPeer: {
    summary: 'Set how often the secret of a peer is rotated',
    params: idParams,
    body: federation.patchPeerBody,
    replies: { 200: federation.onePeerReply },
    refusals: ['not_found'],
  },
  forgetPeer: {
    summary: 'Forget a revoked or rejected peer',
    params: idParams,
    replies: { 200: successReply },
    refusals: ['not_found', 'peer_state'],
  },
  resetPeer: {
    summary: 'Forget a peer that needs attention',
    params: idParams,
    replies: { 200: successReply },
    refusals: ['not_found', 'peer_state'],
  },
  recheckPeer: {
    summary: 'Check now whether a stopped peer can go on',
    params: idParams,
    replies: { 200: federation.onePeerReply },
    refusals: ['not_found', 'peer_state', 'remote_unreachable', 'remote_unproven', 'remote_clock'],
  },
  rotatePeer: {
    summary: 'Rotate the secret of a peer',
    params: idParams,
    replies: { 200: federation.onePeerReply },
    refusals: ['not_found', 'peer_state', 'rotation_running', 'rotation_refused', 'remote_unreachable'],
  },
  ensurePeer: {
    summary: 'Ask for a peering with an instance to which the caller has connected',
    body: federation.ensurePeerBody,
    replies: { 200: federation.ensurePeerReply },
    refusals: ['origin_invalid', 'origin_is_own', 'too_many_peering_requests', 'rate_limited'],
  },
  peerDenied: {
    summary: 'Tell this instance that its offer was denied or has expired',
    body: federation.deniedBody,
    replies: { 200: federation.deniedReply },
    refusals: ['not_found', 'peer_state'],
  },
  rotatePeerSecret: {
    summary: 'Give this instance a new shared secret',
    body: federation.rotateBody,
    replies: { 200: federation.rotateReply },
    refusals: ['rotation_running'],
  },
  relay: {
    summary: 'Relay events to this instance',
    body: relay.relayBody,
    replies: { 200: relay.relayReply },
    refusals: ['source_mismatch', 'rate_limited', 'relay_busy', 'body_too_slow'],
  },
  sync: {
    summary: 'The events that concern the calling peer since a time',
    body: relay.syncBody,
    replies: { 200: relay.syncReply },
  },
  lookUpUser: {
    summary: 'A user of this instance by name',
    body: relay.lookupBody,
    replies: { 200: relay.lookupReply },
    refusals: ['user_not_found', 'rate_limited'],
  },
  lookUpByHomeId: {
    summary: 'A user of this instance by id',
    body: relay.byHomeIdBody,
    replies: { 200: relay.byHomeIdReply },
    refusals: ['rate_limited'],
  },
  verifyAttachProof: {
    summary: 'Verify and use up an attach proof; the answer is signed',
    body: relay.attachTokenBody,
    replies: { 200: relay.attachProofReply },
    refusals: ['rate_limited'],
  },
} as const satisfies Partial<Record<EndpointName, EndpointDeclaration>>
