import { toErrorResponse } from '@gatehouse/runtime'
import { freePort, openMigratedDatabase, testDatabase } from '@gatehouse/test-kit'
import { MikroORM } from '@mikro-orm/postgresql'
import { expect } from 'chai'
import pg from 'pg'
import { DatabaseUnavailable } from '../src/driver.ts'
import { connectDatabase, databaseOptions } from '../src/open-database.ts'
import { read, violates } from '../src/rows.ts'

const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  )

/** A 503 with Retry-After: the client may try again. */
function expectUnavailable(error: unknown): void {
  expect(error).to.be.instanceOf(DatabaseUnavailable)
  const { refusal, fault } = toErrorResponse(error)
  expect([refusal.status, refusal.headers, fault]).to.deep.equal([503, { 'Retry-After': '1' }, true])
}

describe('Faults of connections', () => {
  it('that are lost inside a transaction read as unavailable, and give their places in the pool back', async () => {
    await using database = await openMigratedDatabase()
    await using opening = new AsyncDisposableStack()
    const small = opening.adopt(await connectDatabase({ url: database.url, connections: 2 }), (orm) => orm.close(true))
    await using terminate = await terminator(database.url)

    const broken = Array.from({ length: 2 }, () =>
      small.em.fork().transactional(async (em) => {
        const [row] = await read<{ pid: number }>(em, 'select pg_backend_pid() as pid')
        await terminate.backend(row!.pid)
        await em.execute('select 1')
      }),
    )

    for (const error of await Promise.all(broken.map(errorOf))) expectUnavailable(error)
    expect(await read(small.em.fork(), 'select 1 as one')).to.deep.equal([{ one: 1 }])
  })

  it('that end while a statement runs read as unavailable', async () => {
    await using database = await openMigratedDatabase()
    await using terminate = await terminator(database.url)
    const sleeping = errorOf(database.orm.em.fork().execute('select pg_sleep(30)'))

    await terminate.sleeping()

    expectUnavailable(await sleeping)
  })

  it('are met by one statement: the next one has another connection', async () => {
    await using database = await openMigratedDatabase()
    await using opening = new AsyncDisposableStack()
    const single = opening.adopt(await connectDatabase({ url: database.url, connections: 1 }), (orm) => orm.close(true))

    for (let round = 0; round < 20; round += 1) {
      expectUnavailable(await errorOf(single.em.fork().execute('select pg_terminate_backend(pg_backend_pid())')))
      expect(await single.em.fork().execute('select 1 as one')).to.deep.equal([{ one: 1 }])
    }
  })

  it('that are refused, or not accepted in time, read as unavailable', async () => {
    const nowhere = `postgres://127.0.0.1:${await freePort()}/gatehouse`
    await using opening = new AsyncDisposableStack()
    const open = (url: string, connections: number) =>
      opening.adopt(new MikroORM(databaseOptions({ url, connections })), (orm) => orm.close(true))
    await using database = await testDatabase()
    const full = open(database.url, 1)
    const holder = full.em.fork()
    await holder.begin()
    // Not before: making a connection takes longer than that on a busy machine.
    const { options } = await full.em.getConnection().getNativeClient()
    options.connectionTimeoutMillis = 100

    expectUnavailable(await errorOf(open(nowhere, 1).em.fork().execute('select 1')))
    expectUnavailable(await errorOf(open(nowhere, 1).em.fork().begin()))
    expectUnavailable(await errorOf(full.em.fork().execute('select 1')))
    await holder.rollback()
    expect(await read(full.em.fork(), 'select 1 as one')).to.deep.equal([{ one: 1 }])
  })

  it('are distinguished from faults of statements, which stay as they are', async () => {
    await using database = await openMigratedDatabase()
    const em = database.orm.em.fork()
    const insert = "insert into users (id, username, password_hash) values (1, 'ada', 'x')"
    await em.execute(insert)

    const violation = await errorOf(em.execute(insert))
    const syntax = await errorOf(em.execute('selekt 1'))

    expect(violates(violation, 'users_username_unique') || violates(violation, 'users_pkey')).to.equal(true)
    for (const error of [violation, syntax]) expect(toErrorResponse(error).refusal.status).to.equal(500)
  })
})

/** A client of its own ends backends: inside a transaction all statements of the ORM use that transaction's connection. */
async function terminator(url: string) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return {
    backend: async (pid: number) => void (await client.query('select pg_terminate_backend($1, 5000)', [pid])),
    /** Waits until a backend sleeps, and ends it. */
    sleeping: async () => {
      const sql = `select pg_terminate_backend(pid, 5000) from pg_stat_activity
        where datname = current_database() and wait_event = 'PgSleep'`
      for (let count = 0; count === 0;) count = (await client.query(sql)).rowCount ?? 0
    },
    [Symbol.asyncDispose]: () => client.end(),
  }
}
