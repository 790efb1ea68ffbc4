import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { createDataFolder, removeFolder } from '@gatehouse/test-kit'
import { connectDatabase, migrateDatabase } from '@gatehouse/database'
import { startPersistentPostgres } from '@gatehouse/local-servers'
import { eventually } from '@gatehouse/test-kit'
import pg from 'pg'
import { loadOrCreateSecrets } from '../embedded/data-folder.ts'
import { postJson, startInstance } from './program.ts'
import { runArguments } from './run-arguments.ts'

const account = { username: 'alice', password: 'a long enough password' }

describe('npm start, its database', () => {
  let folder: string
  beforeEach(async () => {
    folder = await createDataFolder()
  })
  afterEach(() => removeFolder(folder))

  /** As the owner of the schema, on the server of the running instance. */
  async function query(sql: string): Promise<Record<string, unknown>[]> {
    const [, , , port] = (await readFile(join(folder, 'database/data/postmaster.pid'), 'utf8')).split('\n')
    const { databasePassword: password } = loadOrCreateSecrets(folder)
    const client = new pg.Client({
      host: '127.0.0.1',
      port: Number(port),
      user: 'gatehouse',
      password,
      database: 'gatehouse',
    })
    await client.connect()
    try {
      return (await client.query<Record<string, unknown>>(sql)).rows
    } finally {
      await client.end()
    }
  }

  it('is used as a role that is no superuser, also in a data folder of an earlier version, twice in a row', async () => {
    {
      const { databasePassword: password } = loadOrCreateSecrets(folder)
      await using server = await startPersistentPostgres({ folder: join(folder, 'database'), password })
      const orm = await connectDatabase({ url: server.url })
      await migrateDatabase(orm).finally(() => orm.close(true))
    }
    for (const [round, status] of [201, 409].entries()) {
      await using instance = await startInstance(folder)
      expect((await postJson(`${instance.url}/api/auth/register`, account)).status).to.equal(status)
      expect((await postJson(`${instance.url}/api/auth/login`, account)).status, `round ${round}`).to.equal(200)

      const users = await query(
        `select distinct usename, rolsuper from pg_stat_activity join pg_roles on rolname = usename
         where application_name = 'gatehouse'`,
      )
      expect(users).to.deep.equal([{ usename: 'gatehouse_embedded', rolsuper: false }])
      instance.signal('SIGTERM')
      expect(await instance.exited).to.include({ code: 0, stderr: '' })
    }
  })

  /** Contract: 8, PostgreSQL. */
  it('may be read-only: changes are 503, reads go on, `check` names it, and it needs no restart', async () => {
    await using instance = await startInstance(folder)
    const operations = await instance.waitForOutput(/http:\S+(?=\/metrics)/)
    const registered = await postJson(`${instance.url}/api/auth/register`, account)
    const headers = { authorization: `Bearer ${String(registered.body.token)}` }
    const setReadOnly = async (value: string) => {
      await query(`alter system set default_transaction_read_only = ${value}`)
      await query('select pg_reload_conf()')
    }
    const change = () =>
      fetch(`${instance.url}/api/users/@me`, {
        method: 'PATCH',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ bio: 'changed' }),
      })
    const gatehouse = (command: string) => runArguments([command], { GATEHOUSE_DATA: folder })

    await setReadOnly('on')
    const refused = await eventually('a change is refused', async () => {
      const response = await change()
      return response.status === 200 ? undefined : response
    })
    const login = await postJson(`${instance.url}/api/auth/login`, account)
    const me = await fetch(`${instance.url}/api/users/@me`, { headers })
    const readiness = await fetch(`${operations}/readyz?verbose`)
    const checked = await gatehouse('check')
    const encrypted = await gatehouse('encrypt')
    await setReadOnly('off')
    await eventually('changes are right', async () => (await change()).status === 200)

    expect([refused.status, refused.headers.get('retry-after')]).to.deep.equal([503, '1'])
    expect([login.status, me.status, readiness.status]).to.deep.equal([503, 200, 200])
    expect(await readiness.json())
      .to.have.property('dependencies')
      .that.includes({ postgres_writes: false })
    expect(checked.code).to.equal(7)
    expect(checked.output).to.match(/FAIL\s+database\s+PostgreSQL is read-only/)
    expect(encrypted.code).to.equal(5)
    expect(encrypted.errors).to.match(/^PostgreSQL is read-only.*\n$/)
    expect((await gatehouse('check')).code).to.equal(0)
  })
})
