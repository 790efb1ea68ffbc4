import { testTokens } from './revocation/token-tests.ts'

describe('A revoked token is rejected once the revocation was answered', function () {
  this.timeout(560_000)

  testTokens({
    seed: Number(process.env.REVOCATION_SEED ?? 20_261_121),
    replicas: { gateway: 2, 'session-gateway': 2, identity: 2 },
    workers: 6,
    faults: 8,
    changes: 40,
  })
  testTokens({ seed: 20_261_128, replicas: { gateway: 2 }, workers: 2, faults: 4, changes: 12, natsNodes: 3 })
})
