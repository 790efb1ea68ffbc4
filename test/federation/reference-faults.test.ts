import { oneOfEachFault, testReferenceFaults } from './reference-faults.ts'

describe('peering with the reference peer, in all four combinations and both directions', () => {
  // reference-faults.system.test.ts has every fault in each combination.
  testReferenceFaults(oneOfEachFault)
})
