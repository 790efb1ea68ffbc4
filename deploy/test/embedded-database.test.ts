import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { connectDatabase, migrateDatabase } from '@gatehouse/database'
import { startPersistentPostgres } from '@gatehouse/local-servers'
import pg from 'pg'
import { loadOrCreateSecrets } from '../embedded/data-folder.ts'
import { postJson, startInstance } from './program.ts'

const account = { username: 'alice', password: 'a long enough password' }

describe('npm start, its database', function () {
  this.timeout(200_000)
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-embedded-'))
    await chmod(folder, 0o711)
  })
  afterEach(() => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }))

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
})
