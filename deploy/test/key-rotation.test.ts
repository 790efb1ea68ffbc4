import { testRotation } from './key-rotation.ts'

describe('A rotation of JWT_SECRET and INTERNAL_SECRET over a running cluster', () => {
  // What refuses a token of the removed secret is the gateway. key-rotation.system.test.ts rolls all in every step.
  testRotation({ replicas: { gateway: 2, identity: 2 }, beginsAt: 'second', lastOf: ['gateway'] })
})
