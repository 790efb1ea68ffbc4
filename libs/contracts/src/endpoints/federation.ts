import * as federation from '../federation.ts'
import * as relay from '../relay.ts'
import { success } from '../users.ts'
import { endpoint, ok, okOrCreated, type Declarations } from './declaration.ts'

const ofOrigin = ['origin_invalid', 'origin_is_own'] as const
const ofKnown = ['peer_exists', 'peer_needs_reset'] as const
const ofHandshake = [
  'handshake_overtaken',
  'remote_refused',
  'remote_unresolved',
  'remote_unreachable',
  'remote_unproven',
  'remote_clock',
] as const

/** The endpoints of federation. Contract: 7, as a whole. */
export const federationDeclarations = {
  deleteIdentity: endpoint('Delete the account of a user of the calling peer', ok(federation.deleteIdentityReply), {
    body: federation.deleteIdentityBody,
    refusals: ['foreign_identity', 'owns_spaces', 'upstream_unavailable'],
  }),
  receiptKeys: endpoint('The Ed25519 keys of receipts, the one in force first', ok(federation.receiptKeysReply)),
  epoch: endpoint('Prove that this instance holds the shared secret', ok(federation.epochReply), {
    refusals: ['signature_headers_missing'],
  }),
  resolveStub: endpoint('Find or create the local stub of a remote user', okOrCreated(federation.resolveStubReply), {
    body: federation.resolveStubBody,
    refusals: ['not_found', 'home_instance_invalid', 'foreign_identity', 'username_taken', 'rate_limited'],
  }),
  acceptPeer: endpoint(
    'Offer a peering to this instance',
    { 200: federation.acceptPeerReply, 202: federation.acceptPeerPendingReply },
    {
      body: federation.acceptPeerBody,
      refusals: [...ofOrigin, 'offer_exists', 'peering_final', 'origin_not_proven', 'too_many_offers'],
    },
  ),
  initiatePeer: endpoint(
    'Offer a peering to another instance',
    { 200: federation.onePeerReply, 202: federation.onePeerReply },
    { body: federation.remoteOriginBody, refusals: [...ofOrigin, ...ofKnown, ...ofHandshake] },
  ),
  listPeers: endpoint('The peers, without their secrets', ok(federation.peersReply)),
  revokePeer: endpoint('Revoke a peer', success, { refusals: ['not_found'] }),
  listApprovalRequests: endpoint('Peering requests that wait for an admin', ok(federation.approvalRequestsReply)),
  approveRequest: endpoint('Approve a peering request', success, {
    refusals: ['not_found', 'request_decided', ...ofKnown],
  }),
  denyRequest: endpoint('Deny a peering request', success, { refusals: ['not_found', 'request_decided'] }),
  patchPeer: endpoint('Set how often the secret of a peer is rotated', ok(federation.onePeerReply), {
    body: federation.patchPeerBody,
    refusals: ['not_found'],
  }),
  forgetPeer: endpoint('Forget a revoked or rejected peer', success, { refusals: ['not_found', 'peer_state'] }),
  resetPeer: endpoint('Forget a peer that needs attention', success, { refusals: ['not_found', 'peer_state'] }),
  recheckPeer: endpoint('Check now whether a stopped peer can go on', ok(federation.onePeerReply), {
    refusals: ['not_found', 'peer_state'],
  }),
  rotatePeer: endpoint('Rotate the secret of a peer', ok(federation.onePeerReply), {
    refusals: ['not_found', 'peer_state', 'rotation_refused', 'remote_unreachable'],
  }),
  ensurePeer: endpoint(
    'Ask for a peering with an instance to which the caller has connected',
    ok(federation.ensurePeerReply),
    { body: federation.ensurePeerBody, refusals: [...ofOrigin, 'too_many_peering_requests', 'rate_limited'] },
  ),
  peerDenied: endpoint('Tell this instance that its offer was denied or has expired', ok(federation.deniedReply), {
    body: federation.deniedBody,
  }),
  rotatePeerSecret: endpoint('Give this instance a new shared secret', ok(federation.rotateReply), {
    body: federation.rotateBody,
    refusals: ['rotation_running'],
  }),
  relay: endpoint('Relay events to this instance', ok(relay.relayReply), {
    body: relay.relayBody,
    refusals: ['source_mismatch', 'rate_limited', 'relay_busy', 'body_too_slow'],
  }),
  sync: endpoint('The events that concern the calling peer since a time', ok(relay.syncReply), {
    body: relay.syncBody,
  }),
  lookUpUser: endpoint('A user of this instance by name', ok(relay.lookupReply), {
    body: relay.lookupBody,
    refusals: ['user_not_found', 'rate_limited'],
  }),
  lookUpByHomeId: endpoint('A user of this instance by id', ok(relay.byHomeIdReply), {
    body: relay.byHomeIdBody,
    refusals: ['rate_limited'],
  }),
  verifyAttachProof: endpoint('Verify and use up an attach proof; the answer is signed', ok(relay.attachProofReply), {
    body: relay.attachTokenBody,
    refusals: ['rate_limited'],
  }),
} satisfies Declarations
