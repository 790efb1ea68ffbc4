import { testRotation } from './key-rotation.ts'

describe('A rotation of JWT_SECRET and INTERNAL_SECRET over a running cluster', () => {
  // Identity signs tokens, the gateway verifies them and signs callers. key-rotation.system.test.ts rolls all in every step.
  testRotation({
    replicas: { gateway: 2, identity: 2 },
    beginsAt: 'second',
    secondOf: ['gateway', 'identity'],
    lastOf: ['gateway'],
  })
})
