import { testFuzz } from './fuzz/fuzz-tests.ts'

const seed = Number(process.env.FUZZ_SEED ?? 20_261_121)

describe(`an instance under 3,000 mutated requests and 3,000 mutated frames (seed ${seed})`, function () {
  this.timeout(480_000)

  testFuzz({
    seed,
    requests: 3_000,
    frames: 3_000,
    received: { ofEachStatus: 13, frames: 2_401, readySockets: 19 },
  })
})
