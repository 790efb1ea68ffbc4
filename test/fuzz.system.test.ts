import { testFuzz } from './fuzz/fuzz-tests.ts'

const seed = Number(process.env.FUZZ_SEED ?? 20_261_121)

describe(`an instance under 5,000 mutated requests and 5,000 mutated frames (seed ${seed})`, function () {
  this.timeout(480_000)

  testFuzz({
    seed,
    requests: 5_000,
    frames: 5_000,
    received: { ofEachStatus: 21, frames: 4_001, readySockets: 31 },
  })
})
