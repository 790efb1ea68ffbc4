import { testSockets, wholeSize } from './revocation/socket-tests.ts'

/** Contract: 6, messages of revoked tokens. */
describe(`Sockets of accounts that are reset, deleted, suspended and demoted under faults (seed ${wholeSize.seed})`, function () {
  this.timeout(560_000)

  testSockets(wholeSize)
})
