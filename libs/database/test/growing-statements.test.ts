import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { withoutValues } from '../src/without-values.ts'
import { expect } from 'chai'
import pg, { type Client } from 'pg'
import { statementsFolder } from '../../../tools/test-runner/collect-statements.ts'
import { startGrownDatabases, type GrownDatabases } from './grown-databases.ts'
import { exceptions } from './growing-statements.ts'

/** In PostgreSQL's units: fifty rows by an index cost 4 each. */
const free = 300
const growth = 3

/** Begin and limits travel with statements. */
const around = /^(?:\s*(?:begin|set local [^;]*);)+|;\s*(?:commit|rollback)\s*$/gi

/** Design: invariant 13. */
describe('every statement that the tests have made the code send', function () {
  this.timeout(600_000)
  const opening = new AsyncDisposableStack()
  let databases: Client[]
  before(async () => {
    const ofRun = process.env.GATEHOUSE_TEST_GROWN
    const { few, many } = ofRun ? (JSON.parse(ofRun) as GrownDatabases) : opening.use(await startGrownDatabases())
    databases = await Promise.all([few, many].map(connect))
  })
  after(() => opening.disposeAsync())

  async function connect(url: string): Promise<Client> {
    const client = opening.adopt(new pg.Client(url), (open) => open.end())
    await client.connect()
    return client
  }

  async function costOf(client: Client, statement: string): Promise<number> {
    const generic = /\$\d/.test(statement) ? 'generic_plan, ' : ''
    const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: { 'Total Cost': number } }] }>(
      `explain (${generic}format json) ${statement}`,
    )
    return rows[0]!['QUERY PLAN'][0].Plan['Total Cost']
  }

  async function judge(statement: string): Promise<string | null> {
    const [before, after] = [await costOf(databases[0]!, statement), await costOf(databases[1]!, statement)]
    if (after <= free || after <= before * growth) return null
    return `${before.toFixed(0)} to ${after.toFixed(0)}: ${withoutValues(statement).replace(/\s+/g, ' ').slice(0, 400)}`
  }

  it('costs the same in an instance that is ten times as large', async () => {
    const statements = readCollected()
    const findings: string[] = []
    const used = new Set<string>()
    for (const statement of statements) {
      const form = withoutValues(statement).replace(/\s+/g, ' ')
      const exception = Object.keys(exceptions).find((begins) => form.startsWith(begins))
      const finding = await judge(statement).catch((error: Error) => `${error.message}: ${form.slice(0, 400)}`)
      if (finding !== null && exception) used.add(exception)
      else if (finding !== null) findings.push(finding)
    }
    process.stdout.write(`      ${statements.length} statements\n`)

    expect(statements.length).to.be.greaterThan(10)
    expect(findings).to.deep.equal([])
  })

  it('is named when its index is missing', async () => {
    const page = `select * from audit_log where target_id = '5' order by id desc limit 51`
    for (const client of databases) await client.query('begin; drop index audit_log_target')

    const without = await judge(page)
    for (const client of databases) await client.query('rollback')

    expect([without?.replace(/^\d+ to \d+: /, ''), await judge(page)]).to.deep.equal([withoutValues(page), null])
  })
})

function readCollected(): string[] {
  const files = readdirSync(statementsFolder())
  const texts = files.flatMap((file) => JSON.parse(readFileSync(join(statementsFolder(), file), 'utf8')) as string[])
  const byForm = new Map(texts.map((text) => [withoutValues(text), text.replaceAll(around, '').trim()]))
  return [...byForm.values()].filter((text) => /^(select|update|delete|with|insert)\b/i.test(text))
}
