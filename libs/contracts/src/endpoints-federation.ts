import type { Endpoint } from './endpoint.ts'
import * as federation from './federation.ts'
import { rateLimits } from './limits.ts'
import { idParams } from './text.ts'
import { successReply } from './users.ts'

const peer = { service: 'federation-fanout', access: 'peer' } as const
const admin = { service: 'federation-fanout', access: 'admin' } as const

/** Contract: 7. */
export const federationEndpoints = {
  deleteIdentity: {
    ...peer,
    method: 'DELETE',
    path: '/api/federation/identity',
    summary: 'A peer deletes an identity that lives there',
    body: federation.deleteIdentityBody,
    replies: { 200: successReply },
  },
  epoch: {
    ...peer,
    method: 'POST',
    path: '/api/federation/epoch',
    summary: 'Proves who holds the shared secret',
    replies: { 200: federation.epochReply },
  },
  resolveStub: {
    ...peer,
    method: 'POST',
    path: '/api/federation/stubs',
    summary: 'Finds or makes the local stub of a remote user',
    body: federation.resolveStubBody,
    replies: { 200: federation.resolveStubReply, 201: federation.resolveStubReply },
  },
  acceptPeer: {
    method: 'POST',
    path: '/api/federation/peer/accept',
    service: 'federation-fanout',
    access: 'anyone',
    summary: 'Another instance asks to be a peer',
    limit: rateLimits.acceptPeer,
    body: federation.acceptPeerBody,
    replies: { 200: federation.acceptPeerReply, 202: federation.acceptPeerPendingReply },
  },
  initiatePeer: {
    ...admin,
    method: 'POST',
    path: '/api/federation/peer/initiate',
    summary: 'Ask another instance to be a peer',
    body: federation.initiatePeerBody,
    replies: { 200: federation.initiatePeerReply, 202: federation.initiatePeerReply },
  },
  listPeers: {
    ...admin,
    method: 'GET',
    path: '/api/federation/peers',
    summary: 'The peers, without their secrets',
    replies: { 200: federation.peersReply },
  },
  revokePeer: {
    ...admin,
    method: 'DELETE',
    path: '/api/federation/peers/:id',
    summary: 'Revoke a peer',
    params: idParams,
    replies: { 200: successReply },
  },
  listApprovalRequests: {
    ...admin,
    method: 'GET',
    path: '/api/federation/approval-requests',
    summary: 'Instances that wait to become peers',
    replies: { 200: federation.approvalRequestsReply },
  },
  approveRequest: {
    ...admin,
    method: 'POST',
    path: '/api/federation/approval-requests/:id/approve',
    summary: 'Accept a waiting instance as a peer',
    params: idParams,
    replies: { 200: successReply },
  },
  denyRequest: {
    ...admin,
    method: 'POST',
    path: '/api/federation/approval-requests/:id/deny',
    summary: 'Turn a waiting instance away',
    params: idParams,
    replies: { 200: successReply },
  },
} as const satisfies Record<string, Endpoint>
