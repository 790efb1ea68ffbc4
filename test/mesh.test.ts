import { testMesh } from './mesh/mesh-tests.ts'

/** Contract: 7, as a whole. */
describe('a mesh of three instances under faults', () => {
  // mesh.system.test.ts has four instances and all faults.
  testMesh({
    seed: 20_261_123,
    size: { ours: 1, references: 2, peopleAtEach: 1, actsOfEach: 3, faults: 3 },
    goals: {
      'fault: kill': 1,
      'fault: cut': 1,
      'bad requests': 11,
      'act: connect': 2,
      'profiles of bystanders that arrived': 1,
      'names given to a stranger': 1,
    },
  })
})
