import * as federation from '../federation.ts'
import * as relay from '../relay.ts'
import { idParams } from '../text.ts'
import { successReply } from '../users.ts'
import type { EndpointSchemas } from './endpoints.ts'
import type { EndpointName } from './table.ts'

/** Contract: 7. */
export const federationSchemas = {
  deleteIdentity: {
    summary: 'Delete the account of a user of the calling peer',
    body: federation.deleteIdentityBody,
    replies: { 200: successReply },
  },
  epoch: { summary: 'Prove that this instance holds the shared secret', replies: { 200: federation.epochReply } },
  resolveStub: {
    summary: 'Find or create the local stub of a remote user',
    body: federation.resolveStubBody,
    replies: { 200: federation.resolveStubReply, 201: federation.resolveStubReply },
  },
  acceptPeer: {
    summary: 'Offer a peering to this instance',
    body: federation.acceptPeerBody,
    replies: { 200: federation.acceptPeerReply, 202: federation.acceptPeerPendingReply },
  },
  initiatePeer: {
    summary: 'Offer a peering to another instance',
    body: federation.initiatePeerBody,
    replies: { 200: federation.initiatePeerReply, 202: federation.initiatePeerReply },
  },
  listPeers: { summary: 'The peers, without their secrets', replies: { 200: federation.peersReply } },
  ensurePeer: {
    summary: 'Ask for a peering with an instance to which the caller has connected',
    body: federation.ensurePeerBody,
    replies: { 200: federation.ensurePeerReply },
  },
  patchPeer: {
    summary: 'Set how often the secret of a peer is rotated',
    params: idParams,
    body: federation.patchPeerBody,
    replies: { 200: federation.onePeerReply },
  },
  revokePeer: { summary: 'Revoke a peer', params: idParams, replies: { 200: successReply } },
  forgetPeer: { summary: 'Forget a revoked or rejected peer', params: idParams, replies: { 200: successReply } },
  resetPeer: { summary: 'Forget a peer that needs attention', params: idParams, replies: { 200: successReply } },
  recheckPeer: {
    summary: 'Check now whether a stopped peer can go on',
    params: idParams,
    replies: { 200: federation.onePeerReply },
  },
  rotatePeer: {
    summary: 'Rotate the secret of a peer',
    params: idParams,
    replies: { 200: federation.onePeerReply },
  },
  listApprovalRequests: {
    summary: 'Peering requests that wait for an admin',
    replies: { 200: federation.approvalRequestsReply },
  },
  approveRequest: { summary: 'Approve a peering request', params: idParams, replies: { 200: successReply } },
  peerDenied: {
    summary: 'Tell this instance that its offer was denied or has expired',
    body: federation.deniedBody,
    replies: { 200: federation.deniedReply },
  },
  rotatePeerSecret: {
    summary: 'Give this instance a new shared secret',
    body: federation.rotateBody,
    replies: { 200: federation.rotateReply },
  },
  relay: { summary: 'Relay events to this instance', body: relay.relayBody, replies: { 200: relay.relayReply } },
  sync: {
    summary: 'The events that concern the calling peer since a time',
    body: relay.syncBody,
    replies: { 200: relay.syncReply },
  },
  lookUpUser: {
    summary: 'A user of this instance by name',
    body: relay.lookupBody,
    replies: { 200: relay.lookupReply },
  },
  lookUpByHomeId: {
    summary: 'A user of this instance by id',
    body: relay.byHomeIdBody,
    replies: { 200: relay.byHomeIdReply },
  },
  verifyAttachProof: {
    summary: 'Verify and use up an attach proof; the answer is signed',
    body: relay.attachTokenBody,
    replies: { 200: relay.attachProofReply },
  },
  denyRequest: { summary: 'Deny a peering request', params: idParams, replies: { 200: successReply } },
} as const satisfies Partial<Record<EndpointName, EndpointSchemas>>
