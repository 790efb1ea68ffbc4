import { testMesh } from './mesh/mesh-tests.ts'

const seed = Number(process.env.MESH_SEED ?? 20_261_123)
const faults = ['kill', 'cut', 'rotate', 'move', 'keys', 'silence', 'data lost']
const acts = ['connect', 'profile', 'password', 'remove']

/** Contract: 7, as a whole. */
describe(`a mesh of instances of both kinds under faults (seed ${seed})`, function () {
  this.timeout(560_000)

  testMesh({
    seed,
    size: { ours: 2, references: 2, peopleAtEach: 2, actsOfEach: 6, faults: 9 },
    goals: {
      ...Object.fromEntries(faults.map((fault) => [`fault: ${fault}`, 1])),
      ...Object.fromEntries(acts.map((act) => [`act: ${act}`, 2])),
      'bad requests': 11,
      'profiles of bystanders that arrived': 2,
      'names given to a stranger': 1,
    },
  })
})
