import { rowsOf } from './row.ts'

const identity = rowsOf('identity')
const invite = rowsOf('invite')
const federation = rowsOf('federation-fanout')

/** The endpoints that clients of admins call: apart, so that others need not load them. */
export const adminRows = {
  // Contract: 4, invites
  createInvite: invite('POST', '/api/admin/invites', 'admin'),
  listInvites: invite('GET', '/api/admin/invites', 'admin'),
  patchInvite: invite('PATCH', '/api/admin/invites/:id', 'admin'),
  revokeInvite: invite('POST', '/api/admin/invites/:id/revoke', 'admin'),
  reinstateInvite: invite('POST', '/api/admin/invites/:id/reinstate', 'admin'),
  deleteInvite: invite('DELETE', '/api/admin/invites/:id', 'admin'),
  listRedemptions: invite('GET', '/api/admin/invites/:id/redemptions', 'admin'),

  // Contract: 5, administration
  listUsers: identity('GET', '/api/admin/users', 'admin'),
  listUserInstances: identity('GET', '/api/admin/users/instances', 'admin'),
  setRole: identity('PATCH', '/api/admin/users/:id/role', 'admin'),
  resetPassword: identity('POST', '/api/admin/users/:id/reset-password', 'admin'),
  deleteUser: identity('DELETE', '/api/admin/users/:id', 'admin'),
  getSettings: identity('GET', '/api/settings/instance', 'admin'),
  patchSettings: identity('PATCH', '/api/settings/instance', 'admin'),
  listAudit: identity('GET', '/api/admin/audit', 'admin'),

  // Contract: 7, federation
  initiatePeer: federation('POST', '/api/federation/peer/initiate', 'admin'),
  listPeers: federation('GET', '/api/federation/peers', 'admin'),
  patchPeer: federation('PATCH', '/api/federation/peers/:id', 'admin'),
  revokePeer: federation('DELETE', '/api/federation/peers/:id', 'admin'),
  forgetPeer: federation('DELETE', '/api/federation/peers/:id/permanent', 'admin'),
  resetPeer: federation('POST', '/api/federation/peers/:id/reset', 'admin'),
  recheckPeer: federation('POST', '/api/federation/peers/:id/recheck', 'admin'),
  rotatePeer: federation('POST', '/api/federation/peers/:id/rotate', 'admin'),
  listApprovalRequests: federation('GET', '/api/federation/approval-requests', 'admin'),
  approveRequest: federation('POST', '/api/federation/approval-requests/:id/approve', 'admin'),
  denyRequest: federation('POST', '/api/federation/approval-requests/:id/deny', 'admin'),
}
