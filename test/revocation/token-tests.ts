import { expect } from 'chai'
import { formatTokenRun, runTokenRevocations, type TokenSize } from './tokens.ts'

/** Registers the test of one run of this size. */
export function testTokens(size: TokenSize): void {
  const nats = size.natsNodes === undefined ? 'NATS' : 'leaders of NATS'
  it(`on every gateway and session gateway, while Redis, ${nats} and processes are killed and frozen (seed ${size.seed})`, async () => {
    const { run, control } = await runTokenRevocations(size)

    process.stdout.write(`${formatTokenRun(run, control).replaceAll(/^/gm, '      ')}\n`)
    expect(run.stale).to.deep.equal([])
    expect(run.acceptedBefore).to.be.greaterThan(0)
    expect(run.sameSecond).to.be.greaterThan(0)
    expect(run.logins.answered).to.be.greaterThan(0)
    expect(control.accepted).to.be.greaterThan(0)
    expect(control.refused).to.equal(control.changes)
    expect(run.inFlight.refused).to.be.greaterThan(0)
    expect(run.checks.refused).to.be.greaterThan(run.acceptedBefore)
  })
}
