import { expect } from 'chai'
import { formatRun } from './faults/report.ts'
import { runFaults, type FaultRun } from './faults/run-faults.ts'

describe('an instance whose parts die, freeze and lose each other under load', function () {
  this.timeout(280_000)
  let run: FaultRun
  before(async () => {
    run = await runFaults({ rounds: 1, say: () => undefined })
    process.stdout.write(`${formatRun(run)}\n`)
  })

  const times = (what: string): number => new Map(run.history.counts()).get(what) ?? 0

  it('breaks no promise: no lost write, no stale token, no overdrawn invite, no wrong presence, no hand needed', () => {
    expect(run.history.breaches()).to.deep.equal([])
  })

  it('was at work while it was tested', () => {
    expect(times('faults')).to.be.greaterThan(10)
    expect(times('writes acknowledged')).to.be.greaterThan(20)
    expect(times('tokens revoked by an acknowledged change')).to.be.greaterThan(2)
    expect(times('revoked tokens shown')).to.be.greaterThan(20)
    expect(times('registrations by invite acknowledged')).to.be.greaterThan(1)
    expect(times('handshakes to ready')).to.be.greaterThan(4)
  })
})
