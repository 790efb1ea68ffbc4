import { rowsOf } from './row.ts'

const federation = rowsOf('federation-fanout')

/** The endpoints that other instances call. Contract: 7. */
export const peerRows = {
  deleteIdentity: federation('DELETE', '/api/federation/identity', 'peer'),
  epoch: federation('POST', '/api/federation/epoch', 'peer'),
  resolveStub: federation('POST', '/api/federation/stubs', 'peer'),
  acceptPeer: federation('POST', '/api/federation/peer/accept', 'anyone'),
  peerDenied: federation('POST', '/api/federation/peer/denied', 'peer'),
  rotatePeerSecret: federation('POST', '/api/federation/peer/rotate', 'peer'),
  relay: federation('POST', '/api/federation/relay', 'peer'),
  sync: federation('POST', '/api/federation/sync', 'peer'),
  lookUpUser: federation('POST', '/api/federation/users/lookup', 'peer'),
  lookUpByHomeId: federation('POST', '/api/federation/users/by-home-id', 'peer'),
  verifyAttachProof: federation('POST', '/api/federation/verify-attach-proof', 'peer'),
}
