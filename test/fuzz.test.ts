import { expect } from 'chai'
import { holdingsGrowth } from './fuzz/growth.ts'
import { formatRun } from './fuzz/report.ts'
import { runFuzz, type FuzzRun } from './fuzz/run-fuzz.ts'

const seed = Number(process.env.FUZZ_SEED ?? 20_261_121)

describe(`an instance under 5,000 mutated requests and 5,000 mutated frames (seed ${seed})`, function () {
  this.timeout(240_000)
  let run: FuzzRun
  before(async () => {
    run = await runFuzz({ requests: 5_000, frames: 5_000, seed, log: () => undefined })
    process.stdout.write(`${formatRun(run)}\n`)
  })

  it('answers none with a fault or an internal, logs no error, and works afterwards', () => {
    expect(run.findings, formatRun(run)).to.have.length(0)
    expect(run.lockTimeouts, formatRun(run)).to.be.lessThan(20)
  })

  it('keeps no sockets, descriptors or memory of them', () => {
    expect(holdingsGrowth(run)).to.deep.equal([])
  })

  it('received them: requests that were carried out and that were refused, sockets that were ready', () => {
    for (const status of [200, 400, 401, 404, 405])
      expect(run.statuses.get(status), String(status)).to.be.greaterThan(20)
    expect(run.frames.sent).to.be.greaterThan(4_000)
    expect(run.frames.ready).to.be.greaterThan(30)
  })
})
