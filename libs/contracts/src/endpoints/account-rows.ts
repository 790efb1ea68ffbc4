import { rowsOf } from './row.ts'

const identity = rowsOf('identity')
const federation = rowsOf('federation-fanout')
const sessionGateway = rowsOf('session-gateway')

/** The endpoints of the own account that clients call seldom: apart, so that they need not be loaded before. Contract: 3. */
export const accountRows = {
  endSessions: identity('POST', '/api/users/@me/sessions/end', 'bearer'),
  listSockets: sessionGateway('GET', '/api/users/@me/sockets', 'bearer'),
  exportData: identity('POST', '/api/users/@me/export', 'bearer'),
  deleteFederationIdentity: federation('POST', '/api/users/@me/federation-identity/delete', 'bearer'),
  getRegistry: identity('GET', '/api/users/@me/federation-registry', 'bearer'),
  putRegistry: identity('PUT', '/api/users/@me/federation-registry', 'bearer'),
  attachProof: identity('POST', '/api/auth/attach-proof', 'bearer'),
  reattach: identity('POST', '/api/users/@me/reattach', 'bearer'),
}
