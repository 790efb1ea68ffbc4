import { everyCase, testReferenceFaults } from './reference-faults.ts'

describe('peering with the reference peer, in all four combinations and both directions', () => {
  testReferenceFaults(everyCase)
})
