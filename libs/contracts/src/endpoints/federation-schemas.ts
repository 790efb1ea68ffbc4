import * as federation from '../federation.ts'
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
  revokePeer: { summary: 'Revoke a peer', params: idParams, replies: { 200: successReply } },
  listApprovalRequests: {
    summary: 'Peering requests that wait for an admin',
    replies: { 200: federation.approvalRequestsReply },
  },
  approveRequest: { summary: 'Approve a peering request', params: idParams, replies: { 200: successReply } },
  denyRequest: { summary: 'Deny a peering request', params: idParams, replies: { 200: successReply } },
} as const satisfies Partial<Record<EndpointName, EndpointSchemas>>
