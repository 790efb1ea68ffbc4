import type { User } from '@gatehouse/domain'
import { urlForRole } from '@gatehouse/database'
import {
  copyPostgresData,
  createDataFolder,
  eventually,
  removeFolder,
  runData,
  runDataPassword,
  startPersistentPostgres,
  type LocalServer,
} from '@gatehouse/test-kit'
import { expect } from 'chai'
import pg from 'pg'
import { buildUser } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'

const role = 'gatehouse_identity'
const connections = 4
const maxConnections = 30
const reservedForSuperusers = 3

/** Contract: 8, PostgreSQL; 8, Readiness. Its other tests: libs/database/test/read-only-servers.test.ts. */
describe('A PostgreSQL of its own', () => {
  const scope = new AsyncDisposableStack()
  let server: LocalServer
  let identity: TestIdentity
  let user: User
  before(async () => {
    const folder = scope.adopt(await createDataFolder(), removeFolder)
    await copyPostgresData(await runData(), `${folder}/database`)
    const settings = {
      fsync: 'off',
      max_connections: `${maxConnections}`,
      superuser_reserved_connections: `${reservedForSuperusers}`,
    }
    const options = { folder: `${folder}/database`, password: runDataPassword, settings }
    server = scope.use(await startPersistentPostgres(options))
    identity = scope.use(await startTestIdentity({ databaseUrl: server.url, connections }))
    user = await buildUser(identity)
    // What a test provokes is no grant that is missing.
    scope.defer(() => void identity.logLines.splice(0))
  })
  after(() => scope.disposeAsync())

  const read = () => identity.call('GET', '/api/users/@me', { as: user })
  const write = (as = user) => identity.call('PATCH', '/api/users/@me', { as, body: { bio: 'changed' } })
  const readiness = async () => {
    const response = await fetch(`${identity.url}/readyz?verbose`)
    return { status: response.status, ...((await response.json()) as { faults: Record<string, string> }) }
  }
  const expectUnavailable = async (responding: ReturnType<typeof read>) => {
    const { status, headers, body } = await responding
    expect([status, headers.get('retry-after'), body['code']]).to.deep.equal([503, '1', 'unavailable'])
  }
  /** As a superuser, in a database that no test renames. */
  async function asSuperuser(...statements: string[]): Promise<void> {
    const url = new URL(server.url)
    url.pathname = '/postgres'
    const client = await openClient(url.href)
    try {
      for (const sql of statements) await client.query(sql)
    } finally {
      await client.end()
    }
  }
  const asOwner = (sql: string) => identity.deps.orm.em.fork().execute(sql)
  const endConnections = `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = 'gatehouse'`
  const isRightAgain = () =>
    eventually('reads and writes are right', async () =>
      [await read(), await write()].every(({ status }) => status === 200),
    )
  const faultOf = (url: string) =>
    openClient(url).then(
      (client) => client.end(),
      ({ code }: { code?: string }) => code,
    )

  it('whose connections are used up is 503 for who needs a new one; the others go on', async () => {
    await using opening = new AsyncDisposableStack()
    const others: pg.Client[] = []
    opening.defer(async () => void (await Promise.all(others.map((client) => client.end()))))
    const superuser = await openClient(server.url)
    opening.defer(() => superuser.end())
    const writers = await Promise.all(Array.from({ length: connections }, () => buildUser(identity)))
    const refusals = new Set<unknown>()
    await eventually('every connection that a role can have is one of the test', async () => {
      const own = await Promise.all(others.map(backendOf))
      await superuser.query(
        `select pg_terminate_backend(pid, 5000) from pg_stat_activity
          where backend_type = 'client backend' and pid <> pg_backend_pid() and pid <> all ($1)`,
        [own],
      )
      const opened = await openClient(urlForRole(server.url, 'identity')).catch(({ code }: { code?: string }) => code)
      if (opened instanceof pg.Client) others.push(opened)
      else refusals.add(opened)
      return others.length === maxConnections - reservedForSuperusers - 1
    })
    refusals.add(await faultOf(urlForRole(server.url, 'identity')))
    const together = [await read(), ...(await Promise.all(writers.map(write)))]
    await others.pop()?.end()
    await eventually('one connection is enough for reads', async () => (await read()).status === 200)
    await opening.disposeAsync()
    await isRightAgain()

    expect([...refusals]).to.deep.equal(['53300'])
    for (const { status, headers } of together) expect([status, headers.get('retry-after')]).to.deep.equal([503, '1'])
  })

  it('where the password of the role is another now: connections go on, new ones are 503, and it is said why', async () => {
    await read()
    const { password } = new URL(urlForRole(server.url, 'identity'))
    await asSuperuser(`alter role ${role} password 'another one'`)
    expect(await faultOf(urlForRole(server.url, 'identity'))).to.equal('28P01')

    const withConnection = await read()
    await asSuperuser(endConnections)
    await expectUnavailable(read())
    await expectUnavailable(write())
    const { status, faults } = await readiness()
    const said = `password authentication failed for user "${role}"`
    const logged = JSON.stringify(identity.logLines)
    await asSuperuser(`alter role ${role} password '${password}'`)
    await isRightAgain()

    expect(withConnection.status).to.equal(200)
    expect([status, faults]).to.deep.equal([
      503,
      {
        postgres: `PostgreSQL denies the login, the database or a grant: ${said}`,
        postgres_writes: `PostgreSQL denies the login, the database or a grant: ${said}`,
      },
    ])
    expect(logged).to.include(JSON.stringify(said).slice(1, -1))
    for (const secret of [password, runDataPassword, 'another one']) expect(logged).to.not.include(secret)
    expect((await readiness()).faults).to.deep.equal({})
  })

  it('whose database has another name now, or takes no connections, is 503, and right when it is back', async () => {
    const changes = {
      '3D000': ['alter database gatehouse rename to moved', 'alter database moved rename to gatehouse'],
      '55000': ['alter database gatehouse allow_connections false', 'alter database gatehouse allow_connections true'],
    } as const
    for (const [code, [change, back]] of Object.entries(changes)) {
      // A connection in between would keep the database from being renamed.
      await eventually('it has changed', () => asSuperuser(endConnections, change).then(() => true))
      await asSuperuser(endConnections.replace("= 'gatehouse'", "in ('gatehouse', 'moved')"))
      expect(await faultOf(urlForRole(server.url, 'identity'))).to.equal(code)

      await expectUnavailable(read())
      await expectUnavailable(write())
      const { status, faults } = await readiness()
      await asSuperuser(back)
      await isRightAgain()

      expect(status, code).to.equal(503)
      expect(faults['postgres'], code).to.match(/database "gatehouse"/)
    }
  })

  it('that has taken a grant away is 503 where it is needed; everything else goes on', async () => {
    await asOwner(`revoke update on users from ${role}`)
    await expectUnavailable(write())
    const [reading, { status }] = [await read(), await readiness()]
    const [line] = identity.logLines.filter(({ msg }) => msg === 'request failed').slice(-1)
    await asOwner(`grant update on users to ${role}`)
    await isRightAgain()

    expect([reading.status, status]).to.deep.equal([200, 200])
    expect(line)
      .to.have.nested.property('err.message')
      .that.matches(/permission denied for table users/)
  })
})

async function openClient(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString })
  client.on('error', () => undefined)
  await client.connect()
  return client
}

async function backendOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]!.pid
}
