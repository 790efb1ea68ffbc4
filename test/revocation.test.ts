import { testTokens } from './revocation/token-tests.ts'

describe('A revoked token is rejected once the revocation was answered', () => {
  // Redis and NATS are the first that fail. revocation.system.test.ts has all.
  testTokens({ seed: 20_261_121, replicas: { gateway: 2 }, workers: 2, faults: 2, changes: 6 })
})
