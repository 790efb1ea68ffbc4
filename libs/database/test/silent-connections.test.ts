import { openMigratedDatabase, startTcpProxy } from '@gatehouse/test-kit'
import { MikroORM, type EntityManager } from '@mikro-orm/postgresql'
import { expect } from 'chai'
import pg from 'pg'
import { DatabaseUnavailable } from '../src/driver.ts'
import { databaseOptions } from '../src/open-database.ts'
import { read } from '../src/rows.ts'
import { allowLongWork, shortTransaction } from '../src/transaction.ts'

/** After a second without an answer a connection is given up here; the server would end a statement after 15. */
const limits = { statementMs: 100, marginMs: 900 }
const sleep = 'select pg_sleep(14)'
const sleepPastLimit = 'select pg_sleep(1.5)'

const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  )

describe('Connections that go silent', () => {
  it('are given up: what runs on them is unavailable, what follows has others, and late replies are nobody’s', async () => {
    await using database = await openBehindProxy(10)
    const { orm, proxy } = database
    const fork = () => orm.em.fork()
    const running = [
      ...Array.from({ length: 7 }, () => fork().execute(sleep)),
      fork().transactional((em) => em.execute(sleep)),
      shortTransaction(fork(), (short) => short.read(sleep)),
      read(fork(), sleep, [], { statementMs: 4_000, workMem: '4MB' }),
    ].map(errorOf)
    await database.sleeping(10)

    const silence = proxy.silence()
    const errors = await Promise.all(running)
    const next = await selectNumber(fork(), 1)
    await database.cancelSleeping()
    silence.release()

    for (const error of errors) expect(error).to.be.instanceOf(DatabaseUnavailable)
    expect(next).to.equal(1)
    const numbers = Array.from({ length: 30 }, (_none, number) => number)
    expect(await Promise.all(numbers.map((number) => selectNumber(fork(), number)))).to.deep.equal(numbers)
  })

  it('are not those of a transaction that has its own time for statements, or is idle', async () => {
    await using database = await openBehindProxy(3)
    const idle = database.orm.em.fork()
    await idle.begin()
    const pidOf = async (em: EntityManager) => (await read<{ pid: number }>(em, 'select pg_backend_pid() pid'))[0]
    const before = await pidOf(idle)

    await Promise.all([
      database.orm.em.fork().transactional(async (em) => {
        await allowLongWork(em)
        await em.execute(sleepPastLimit)
      }),
      database.orm.em.fork().transactional(async (em) => {
        await allowLongWork(em, { lockMs: 0, statementMs: 0 })
        await em.execute(sleepPastLimit)
      }),
    ])

    expect(await pidOf(idle)).to.deep.equal(before)
    await idle.rollback()
  })

  it('are given up again once that transaction has ended', async () => {
    await using database = await openBehindProxy(1)
    await database.orm.em.fork().transactional(allowLongWork)

    const running = errorOf(database.orm.em.fork().execute(sleep))
    await database.sleeping(1)
    database.proxy.silence()

    expect(await running).to.be.instanceOf(DatabaseUnavailable)
    expect(await selectNumber(database.orm.em.fork(), 1)).to.equal(1)
  })
})

async function selectNumber(em: EntityManager, number: number): Promise<number | undefined> {
  const [row] = await read<{ number: number }>(em, 'select ?::int as number', [number])
  return row?.number
}

/** A database behind a proxy, and a client of its own that goes around that. */
async function openBehindProxy(connections: number) {
  await using opening = new AsyncDisposableStack()
  const database = opening.use(await openMigratedDatabase())
  const proxy = opening.use(await startTcpProxy(database.url))
  const observer = new pg.Client({ connectionString: database.url })
  await observer.connect()
  opening.defer(() => observer.end())
  const options = databaseOptions({ url: proxy.url, connections })
  const driverOptions = { ...options.driverOptions, answerLimits: limits }
  const orm = opening.adopt(new MikroORM({ ...options, driverOptions }), (open) => open.close(true))
  const asleep = `from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`
  const open = opening.move()
  return {
    orm,
    proxy,
    sleeping: async (count: number) => {
      for (let sleepers = 0; sleepers < count;) sleepers = (await observer.query(`select ${asleep}`)).rowCount ?? 0
    },
    cancelSleeping: async () => void (await observer.query(`select pg_cancel_backend(pid) ${asleep}`)),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}
