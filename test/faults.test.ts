import { expect } from 'chai'
import { formatRun } from './faults/report.ts'
import { runFaults, type FaultRun } from './faults/run-faults.ts'

describe('an instance under load, while its processes and servers are killed, frozen and partitioned', function () {
  this.timeout(280_000)
  let run: FaultRun
  before(async () => {
    run = await runFaults({ rounds: 1, log: () => undefined })
    process.stdout.write(`${formatRun(run)}\n`)
  })

  const times = (what: string): number => new Map(run.history.counts()).get(what) ?? 0

  it('violates no invariant: no lost write, no stale token, no overdrawn invite, no wrong presence, no manual recovery', () => {
    expect(run.history.breaches()).to.deep.equal([])
  })

  it('was under load while it was tested', () => {
    expect(times('faults')).to.be.greaterThan(10)
    expect(times('writes acknowledged')).to.be.greaterThan(20)
    expect(times('tokens revoked by an acknowledged change')).to.be.greaterThan(2)
    expect(times('revoked tokens presented')).to.be.greaterThan(20)
    expect(times('registrations by invite acknowledged')).to.be.greaterThan(1)
    expect(times('handshakes to ready')).to.be.greaterThan(4)
  })
})
