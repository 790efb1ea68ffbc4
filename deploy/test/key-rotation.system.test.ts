import { roles } from '../cluster/roles.ts'
import { testRotation } from './key-rotation.ts'

describe('A rotation of JWT_SECRET and INTERNAL_SECRET over a running cluster', function () {
  this.timeout(480_000)

  const replicas = { gateway: 2, identity: 2, 'session-gateway': 2 }
  testRotation({ replicas, beginsAt: 'first', secondOf: roles, lastOf: roles })
})
