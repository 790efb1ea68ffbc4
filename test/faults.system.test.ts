import { expect } from 'chai'
import { formatAwayTimes } from './faults/away-times.ts'
import { testFaults } from './faults/fault-tests.ts'
import { runLong } from './faults/long-run.ts'
import { formatRun } from './faults/report.ts'
import { wholeSize } from './faults/run-faults.ts'

describe('an instance under load, while its processes and servers are killed, frozen and partitioned', function () {
  this.timeout(560_000)

  testFaults(wholeSize)
})

describe('an instance with a standby of PostgreSQL, three nodes of NATS and a peer, under faults by a seed', function () {
  this.timeout(800_000)

  // NOTE: of nats-server 2.9, nodes that were cut off may hold other events afterwards.
  it('violates no invariant under the faults of PostgreSQL, and tells how long each fault kept writes, reads, sockets and events away', async () => {
    const stop = new AbortController().signal
    const size = { hours: 0.01, seed: 1, only: 'PostgreSQL', redis: 'single' } as const
    const run = await runLong({ ...size, log: () => undefined, stop })
    process.stdout.write(`${formatRun(run)}\n${formatAwayTimes(run.away)}\n`)

    expect(run.history.breaches()).to.deep.equal([])
    const all = [...run.away.values()].flat().flatMap((away) => Object.values(away))
    expect(all).to.not.deep.equal([])
    expect(Math.min(...all)).to.be.greaterThan(0)
  })
})
