import { expect } from 'chai'
import { formatRun } from './report.ts'
import { runFaults, type FaultRun, type FaultSize } from './run-faults.ts'

/** Registers the tests of one run of this size. */
export function testFaults(size: FaultSize): void {
  let run: FaultRun
  before(async () => {
    run = await runFaults({ ...size, log: () => undefined })
    process.stdout.write(`${formatRun(run)}\n`)
  })

  it('violates no invariant: no lost write, no stale token, no overdrawn invite, no wrong presence, no manual recovery', () => {
    expect(run.history.breaches()).to.deep.equal([])
  })

  it('was under load while it was tested', () => {
    const counts = new Map(run.history.counts())
    for (const [what, least] of Object.entries(size.goals)) expect(counts.get(what), what).to.be.at.least(least)
  })
}
