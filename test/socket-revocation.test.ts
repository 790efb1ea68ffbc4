import { testSockets } from './revocation/socket-tests.ts'

/** Contract: 6, messages of revoked tokens. */
describe('Sockets of accounts that are reset, deleted, suspended and demoted under faults', () => {
  testSockets({ seed: 20_261_123, replicas: {}, workers: 4, changes: 6 })
})
