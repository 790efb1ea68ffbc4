import { rowsOf } from './row.ts'

const identity = rowsOf('identity')
const invite = rowsOf('invite')
const federation = rowsOf('federation-fanout')

/** The endpoints that clients of all users call. */
export const userRows = {
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
  upload: identity('POST', '/api/uploads', 'bearer'),
  getUpload: identity('GET', '/api/uploads/:filename', 'anyone'),
  instanceInfo: identity('GET', '/api/instance/info', 'anyone'),

  // Contract: 7, federation
  ensurePeer: federation('POST', '/api/federation/peer/ensure', 'bearer'),
}
