import { expect } from 'chai'
import { holdingsGrowth } from './growth.ts'
import { formatRun } from './report.ts'
import { runFuzz, type FuzzRun } from './run-fuzz.ts'

export type FuzzSize = {
  seed: number
  requests: number
  frames: number
  /** What the instance must have received of it at least. */
  received: { ofEachStatus: number; frames: number; readySockets: number }
}

/** Registers the tests of one run of this size. */
export function testFuzz({ received, ...size }: FuzzSize): void {
  let run: FuzzRun
  before(async () => {
    run = await runFuzz({ ...size, log: () => undefined })
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
      expect(run.statuses.get(status), String(status)).to.be.at.least(received.ofEachStatus)
    expect(run.frames.sent).to.be.at.least(received.frames)
    expect(run.frames.ready).to.be.at.least(received.readySockets)
  })
}
