import { expect } from 'chai'
import { formatRun } from './faults/report.ts'
import { runUpgrade, type UpgradeRun } from './upgrade/run-upgrade.ts'

describe('a rolling upgrade of an instance under load: one process of each kind is replaced', function () {
  this.timeout(240_000)
  const goals = {
    'sockets closed with 1012': 1,
    logins: 3,
    'writes acknowledged': 20,
    deletions: 1,
    'revoked tokens presented': 10,
  }
  let run: UpgradeRun
  before(async () => {
    run = await runUpgrade({
      rounds: 1,
      replacedOfEach: 1,
      socketsOfEachUser: 10,
      returnLimitMs: 30_000,
      betweenReplacementsMs: 250,
      // A second one would only slow the starts of processes down.
      writers: 1,
      goals,
      log: (line) => void process.stdout.write(`${line}\n`),
    })
    process.stdout.write(`${formatRun(run)}\n`)
  })

  const times = (what: string): number => new Map(run.history.counts()).get(what) ?? 0

  it('loses no request, closes no socket but with 1012, and accepts no stale token', () => {
    expect(run.history.breaches()).to.deep.equal([])
  })

  it('was under load while it was upgraded', () => {
    expect(run.replacements).to.have.length(5)
    for (const { name, answered } of run.replacements) expect(answered, name).to.be.greaterThan(0)
    for (const [what, least] of Object.entries(goals)) expect(times(what), what).to.be.at.least(least)
  })
})
