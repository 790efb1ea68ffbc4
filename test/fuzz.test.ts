import { testFuzz } from './fuzz/fuzz-tests.ts'

describe('an instance under 500 mutated requests and 200 mutated frames', () => {
  // fuzz.system.test.ts has 5,000 of each.
  testFuzz({
    seed: 20_261_121,
    requests: 500,
    frames: 200,
    received: { ofEachStatus: 2, frames: 150, readySockets: 1 },
  })
})
