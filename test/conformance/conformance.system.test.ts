import { testGeneration } from './conformance-tests.ts'

describe('npm run conformance', () => {
  testGeneration(1)
})
