import { testMesh } from './mesh/mesh-tests.ts'

/** Contract: 7. */
describe('two instances, one of each kind, under faults', function () {
  this.timeout(280_000)

  // mesh.system.test.ts has four instances and all faults.
  testMesh({
    seed: 20_261_123,
    size: { ours: 1, references: 1, peopleAtEach: 2, actsOfEach: 3, faults: 3 },
    goals: { 'fault: kill': 1, 'fault: cut': 1, 'act: connect': 2, 'act: remove': 1 },
  })
})
