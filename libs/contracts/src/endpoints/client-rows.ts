import { rowsOf } from './row.ts'

const identity = rowsOf('identity')
const invite = rowsOf('invite')
const federation = rowsOf('federation-fanout')

/** The endpoints that clients call. */
export const clientRows = {
  // Contract: 3, accounts
  register: identity('POST', '/api/auth/register', 'anyone'),
  checkUsername: identity('GET', '/api/auth/check-username', 'anyone'),
  checkInvite: invite('GET', '/api/auth/check-invite', 'anyone'),
  login: identity('POST', '/api/auth/login', 'anyone'),
  getSelf: identity('GET', '/api/users/@me', 'bearer'),
  patchSelf: identity('PATCH', '/api/users/@me', 'bearer'),
  deleteSelf: identity('DELETE', '/api/users/@me', 'bearer'),
  getUser: identity('GET', '/api/users/:id', 'bearer'),
  verifyPassword: identity('POST', '/api/users/@me/verify-password', 'bearer'),
  changePassword: identity('POST', '/api/users/@me/change-password', 'bearer'),
  deleteFederationIdentity: federation('POST', '/api/users/@me/federation-identity/delete', 'bearer'),
  upload: identity('POST', '/api/uploads', 'bearer'),
  getUpload: identity('GET', '/api/uploads/:filename', 'anyone'),
  instanceInfo: identity('GET', '/api/instance/info', 'anyone'),

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
  setRole: identity('PATCH', '/api/admin/users/:id/role', 'admin'),
  resetPassword: identity('POST', '/api/admin/users/:id/reset-password', 'admin'),
  deleteUser: identity('DELETE', '/api/admin/users/:id', 'admin'),
  getSettings: identity('GET', '/api/admin/settings', 'admin'),
  patchSettings: identity('PATCH', '/api/admin/settings', 'admin'),
  listAudit: identity('GET', '/api/admin/audit', 'admin'),

  // Contract: 7, federation
  initiatePeer: federation('POST', '/api/federation/peer/initiate', 'admin'),
  listPeers: federation('GET', '/api/federation/peers', 'admin'),
  revokePeer: federation('DELETE', '/api/federation/peers/:id', 'admin'),
  listApprovalRequests: federation('GET', '/api/federation/approval-requests', 'admin'),
  approveRequest: federation('POST', '/api/federation/approval-requests/:id/approve', 'admin'),
  denyRequest: federation('POST', '/api/federation/approval-requests/:id/deny', 'admin'),
}
