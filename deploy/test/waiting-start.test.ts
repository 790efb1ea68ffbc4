import { expect } from 'chai'
import { variablePrefix } from '@gatehouse/contracts'
import { freePort } from '@gatehouse/local-servers'
import {
  eventually,
  migratedDatabase,
  openMigratedDatabase,
  startNats,
  startRedis,
  startTcpProxy,
  testNats,
  testRedis,
} from '@gatehouse/test-kit'
import { entrypoints } from '../cluster/roles.ts'
import { processEnvironment, startProgram } from './program.ts'

const secret = 'a secret of more than thirty-two characters'

describe('a process starts without the servers that it needs:', () => {
  const resources = new AsyncDisposableStack()
  let databaseUrl: string
  let servers: { NATS_URL: string; REDIS_URL: string }

  before(async () => {
    databaseUrl = resources.use(await migratedDatabase()).url
    servers = { NATS_URL: resources.use(await testNats()).url, REDIS_URL: resources.use(await testRedis()).url }
  })
  after(() => resources.disposeAsync())

  async function start(role: 'identity' | 'session-gateway' | 'gateway', changes: Record<string, string>) {
    const port = String(await freePort())
    const program = startProgram(entrypoints[role].file, {
      ...processEnvironment(secret),
      [role === 'gateway' ? 'OPS_PORT' : `${variablePrefix(role)}_PORT`]: port,
      DATABASE_URL: databaseUrl,
      ...servers,
      ...changes,
    })
    const statusOf = async (path: string): Promise<number> =>
      await fetch(`http://127.0.0.1:${port}${path}`).then(
        ({ status }) => status,
        () => 0,
      )
    const readDependencies = async () =>
      ((await (await fetch(`http://127.0.0.1:${port}/readyz?verbose`)).json()) as { dependencies: object }).dependencies
    return { program, statusOf, readDependencies }
  }

  for (const role of ['identity', 'gateway'] as const) {
    /** Contract: 8, Start. */
    it(`${role} is ready without Redis and NATS, and connects when they come and come back`, async () => {
      await using nats = await startNats()
      await using redis = await startRedis()
      await nats.stop()
      await redis.stop()
      const { program, statusOf, readDependencies } = await start(role, { NATS_URL: nats.url, REDIS_URL: redis.url })
      await using _running = program
      await eventually('it is ready', async () => (await statusOf('/readyz')) === 200)
      expect(await readDependencies()).to.include({ nats: false, redis: false })

      for (let round = 0; round < 2; round += 1) {
        await nats.start()
        await redis.start()
        await eventually(
          'both are up',
          async () => {
            const { nats: hasNats, redis: hasRedis } = (await readDependencies()) as Record<string, boolean>
            return hasNats && hasRedis
          },
          60_000,
        )
        await nats.stop()
        await redis.stop()
        await eventually(
          'both are away',
          async () => !Object.entries(await readDependencies()).some(([name, up]) => /nats|redis/.test(name) && up),
          60_000,
        )
        expect(await statusOf('/readyz')).to.equal(200)
      }
      program.signal('SIGTERM')
      expect((await program.exited).code).to.equal(0)
    })
  }

  /** Contract: 8, Readiness. */
  it('identity waits for PostgreSQL, alive and not ready, says so once, and goes on when it comes', async () => {
    await using proxy = await startTcpProxy(databaseUrl)
    proxy.partition()
    const { program, statusOf } = await start('identity', { DATABASE_URL: proxy.url })
    await using _running = program
    await eventually('it is alive', async () => (await statusOf('/healthz')) === 200)
    const statuses = [await statusOf('/readyz'), await statusOf('/api/instance/info')]
    proxy.heal()
    await eventually('it is ready', async () => (await statusOf('/readyz')) === 200)

    expect(statuses).to.deep.equal([503, 503])
    expect(program.output.stdout.match(/waiting for PostgreSQL/g)).to.have.length(1)
    expect(program.output.stderr).to.equal('')
  })

  /** Contract: 8, PostgreSQL. */
  it('identity starts on a read-only PostgreSQL, and session-gateway, which registers itself, waits for writes', async () => {
    await using database = await openMigratedDatabase()
    const alter = `set transaction read write; alter database ${new URL(database.url).pathname.slice(1)}`
    const setReadOnly = (value: string) =>
      database.orm.em.fork().execute(`${alter} set default_transaction_read_only = ${value}`)
    await setReadOnly('on')
    const identity = await start('identity', { DATABASE_URL: database.url })
    await using _identity = identity.program
    const sessions = await start('session-gateway', { DATABASE_URL: database.url })
    await using _sessions = sessions.program
    await eventually('identity is ready', async () => (await identity.statusOf('/readyz')) === 200)
    await sessions.program.waitForOutput(/PostgreSQL is read-only/)
    const [dependencies, waiting] = [await identity.readDependencies(), await sessions.statusOf('/readyz')]
    await setReadOnly('off')
    await eventually('session-gateway is ready', async () => (await sessions.statusOf('/readyz')) === 200)

    expect(dependencies).to.include({ postgres: true, postgres_writes: false })
    expect(waiting).to.equal(503)
    await eventually('identity sees it', async () => {
      const { postgres, postgres_writes } = (await identity.readDependencies()) as Record<string, boolean>
      return postgres && postgres_writes
    })
  })

  it('and a signal ends the wait', async () => {
    const { program } = await start('identity', { DATABASE_URL: `postgres://u:p@127.0.0.1:${await freePort()}/x` })
    await using _running = program
    await program.waitForOutput(/waiting for PostgreSQL/)
    program.signal('SIGTERM')

    expect((await program.exited).code).to.equal(0)
  })
})
