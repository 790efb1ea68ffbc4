import { expect } from 'chai'
import type { Goals } from '../faults/history.ts'
import { formatRun } from '../faults/report.ts'
import { runUpgrade, type UpgradeOptions, type UpgradeRun } from './run-upgrade.ts'

type Size = Required<Pick<UpgradeOptions, 'replicas' | 'replacedOfEach'>> & { socketsOfEachUser: number; goals: Goals }

/** Registers the tests of one round of this size. */
export function testUpgrade(size: Size): void {
  let run: UpgradeRun
  before(async () => {
    run = await runUpgrade({
      ...size,
      rounds: 1,
      returnLimitMs: 30_000,
      betweenReplacementsMs: 250,
      // A second one would only slow the starts of processes down.
      writers: 1,
      log: (line) => void process.stdout.write(`${line}\n`),
    })
    process.stdout.write(`${formatRun(run)}\n`)
  })

  it('loses no request, closes no socket but with 1012, and accepts no stale token', () => {
    expect(run.history.breaches()).to.deep.equal([])
  })

  it('was under load while it was upgraded', () => {
    const replaced = Object.values(size.replacedOfEach).reduce((sum, count) => sum + count, 0)
    expect(run.replacements).to.have.length(replaced)
    for (const { name, answered } of run.replacements) expect(answered, name).to.be.greaterThan(0)
    const counts = new Map(run.history.counts())
    for (const [what, least] of Object.entries(size.goals)) expect(counts.get(what), what).to.be.at.least(least)
  })
}
