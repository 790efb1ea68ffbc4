import { rowsOf } from './row.ts'

const federation = rowsOf('federation-fanout')

/** The endpoints that other instances call. Contract: 7. */
export const peerRows = {
  deleteIdentity: federation('DELETE', '/api/federation/identity', 'peer'),
  epoch: federation('POST', '/api/federation/epoch', 'peer'),
  resolveStub: federation('POST', '/api/federation/stubs', 'peer'),
  acceptPeer: federation('POST', '/api/federation/peer/accept', 'anyone'),
}
