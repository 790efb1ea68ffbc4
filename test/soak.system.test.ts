import { expect } from 'chai'
import { query } from '../deploy/test/query.ts'
import { seededRandom } from './fuzz/random.ts'
import { formatRun, isSound } from './soak/report.ts'
import { runSoak, type SoakRun } from './soak/run-soak.ts'

/** Design: invariants 1, 2, 13. What it judges is in soak/series.test.ts. */
describe('a soak of half a minute, with a table that leaks and a token that is not revoked', function () {
  this.timeout(560_000)
  const random = seededRandom(1)
  const leaked = { rows: 0 }
  /** Twenty rows a second, with noise that does not resemble that of the sample before: how long inserts take does. */
  async function leak(hours: number, url: string): Promise<void> {
    const rows = Math.max(0, Math.floor(hours * 72_000) + random.below(10) - leaked.rows)
    const values = `select next_snowflake(), '203.0.113.1', 'infinity' from generate_series(1, ${rows})`
    await query(url, `insert into blocked_networks ${values}`)
    leaked.rows += rows
  }
  let run: SoakRun
  before(async () => {
    const stop = new AbortController().signal
    run = await runSoak({
      hours: 0.01,
      seed: 1,
      replicas: {},
      log: () => undefined,
      stop,
      plant: async (hours, { cluster, admin }, ledger) => {
        await leak(hours, cluster.postgres.url)
        if (ledger.revoked.every(({ token }) => token !== admin.token)) ledger.revoke(admin.token, 'a planted fault')
      },
    })
    process.stdout.write(`${formatRun(run)}\n`)
  })

  it('finds both, and no other loss', () => {
    const { judged, ledger } = run

    expect(judged.find(({ name }) => name === 'rows: blocked_networks')?.verdict).to.equal('rises')
    expect(ledger.violations.filter((line) => line.includes('a planted fault'))).to.have.length(1)
    expect(ledger.violations.filter((line) => !line.includes('a planted fault'))).to.deep.equal([])
    expect(isSound(run)).to.equal(false)
  })

  it('did everything that people do, and was told of all of it', () => {
    const counts = new Map(run.ledger.counts())
    const least = {
      'people who came: approved': 1,
      'people who came: invited': 1,
      'people who came: by the provider': 1,
      'profiles at the peer': 1,
      'logins at the application': 2,
      'expected: mail: confirmation': 2,
      'told: PasswordChanged': 1,
      'people who left': 2,
      'messages answered by the upstream': 4,
    }

    for (const [what, times] of Object.entries(least)) expect(counts.get(what), what).to.be.at.least(times)
  })
})
