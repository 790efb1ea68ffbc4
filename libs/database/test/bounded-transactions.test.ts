import { refuse, toErrorResponse } from '@gatehouse/runtime'
import { countLockWaits, eventually, insertUser, openMigratedDatabase } from '@gatehouse/test-kit'
import type { EntityManager, MikroORM } from '@mikro-orm/postgresql'
import { expect } from 'chai'
import { connectDatabase } from '../src/open-database.ts'
import { read } from '../src/rows.ts'
import {
  allowLongWork,
  databaseTime,
  shortTransaction,
  transaction,
  type ShortTransaction,
} from '../src/transaction.ts'

const statusOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 200,
    (error: unknown) => toErrorResponse(error).refusal.status,
  )
const lock = (em: EntityManager, id: string) => em.execute('select id from users where id = ? for update', [id])

describe('transactions', () => {
  let database: AsyncDisposable & { url: string; orm: MikroORM }
  let orm: MikroORM
  before(async () => {
    database = await openMigratedDatabase({ connections: 10 })
    orm = database.orm
  })
  after(async () => await database[Symbol.asyncDispose]())

  const settingsIn = async (em: EntityManager) => {
    const names = ['lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout']
    const sql = `select ${names.map((name) => `current_setting('${name}') as ${name}`).join(', ')}`
    return Object.values((await read<object>(em, sql))[0]!)
  }

  it('have their timeouts, which a long one lifts for itself alone', async () => {
    const long = await orm.em.fork().transactional(async (em) => {
      await allowLongWork(em)
      return await settingsIn(em)
    })

    expect(long).to.deep.equal(['1min', '15min', '30s'])
    expect(await settingsIn(orm.em.fork())).to.deep.equal(['2s', '15s', '30s'])
  })

  const isOpen = async (pid: number) =>
    (await read(orm.em.fork(), 'select 1 from pg_stat_activity where pid = ?', [pid])).length > 0

  it('that cannot have a lock, or whose statement lasts too long, are unavailable', async () => {
    const { id } = await insertUser({ orm })
    const wait = () => orm.em.fork().transactional((em) => lock(em, id))
    const slow = statusOf(
      orm.em.fork().transactional(async (em) => {
        await em.execute('set local statement_timeout = 50')
        await em.execute('select pg_sleep(5)')
      }),
    )
    const idle = statusOf(
      orm.em.fork().transactional(async (em) => {
        await em.execute('set local idle_in_transaction_session_timeout = 50')
        const [own] = await read<{ pid: number }>(em, 'select pg_backend_pid() as pid')
        await eventually('PostgreSQL ends it', async () => !(await isOpen(own!.pid)))
        await em.execute('select 1')
      }),
    )

    const waited = await orm.em.fork().transactional(async (em) => {
      await lock(em, id)
      return await statusOf(wait())
    })

    expect([waited, await slow, await idle]).to.deep.equal([503, 503, 503])
    expect(await statusOf(wait())).to.equal(200)
  })

  it('leave connections for reads, also while as many as can run wait for a lock', async () => {
    const { id } = await insertUser({ orm })
    await transaction(orm, async (em) => {
      await lock(em, id)
      const waiting = Array.from({ length: 25 }, () => statusOf(transaction(orm, (own) => lock(own, id))))
      // Seven of ten: this one and six that wait.
      await eventually('all slots are taken', async () => (await countLockWaits({ orm })) === 6)
      const reads = Array.from({ length: 20 }, () => read(orm.em.fork(), 'select 1 as one'))
      expect(await Promise.all(reads)).to.have.length(20)
      expect(await countLockWaits({ orm })).to.equal(6)
      expect(new Set(await Promise.all(waiting))).to.deep.equal(new Set([503]))
    })
    expect(await statusOf(transaction(orm, (em) => lock(em, id)))).to.equal(200)
  })

  it('give their slots back after a commit, a rollback and a lost connection', async () => {
    await using opening = new AsyncDisposableStack()
    const small = opening.adopt(await connectDatabase({ url: database.url, connections: 2 }), (own) => own.close(true))
    for (let round = 0; round < 3; round += 1) {
      expect(await statusOf(transaction(small, (em) => em.execute('select 1')))).to.equal(200)
      const refused = transaction(small, async () => {
        throw refuse.username_taken()
      })
      expect(await statusOf(refused)).to.equal(409)
      const broken = transaction(small, async (em) => {
        await em.execute('select pg_terminate_backend(pg_backend_pid())')
      })
      expect(await statusOf(broken)).to.equal(503)
    }
    expect(await statusOf(transaction(small, (em) => em.execute('select 1')))).to.equal(200)
  })

  it('that are short commit with their last statement, or roll back, and give their connection back', async () => {
    await using opening = new AsyncDisposableStack()
    const small = opening.adopt(await connectDatabase({ url: database.url, connections: 1 }), (own) => own.close(true))
    const { id } = await insertUser({ orm })
    const bioOf = async () =>
      (await read<{ bio: string | null }>(orm.em.fork(), 'select bio from users where id = ?', [id]))[0]?.bio
    const change = 'update users set bio = ? where id = ? returning bio'

    const rows = await shortTransaction(small.em, async (own) => {
      const [row] = await own.read<{ id: string }>('select id from users where id = ? for update', [id])
      return await own.commitWith<object>(change, ["it's; select 1", row!.id])
    })
    expect([rows, await bioOf()]).to.deep.equal([[{ bio: "it's; select 1" }], "it's; select 1"])

    expect(await shortTransaction(small.em, (own) => own.read(change, ['not kept', id]))).to.have.length(1)
    const broken = (own: ShortTransaction) =>
      own.read(change, ['not kept', id]).then(() => own.commitWith('select 1 / 0'))
    expect(await statusOf(shortTransaction(small.em, broken))).to.equal(500)
    expect(await bioOf()).to.equal("it's; select 1")
  })

  it('of one account run two at a time; the others take no connection and are refused in time', async () => {
    const { id } = await insertUser({ orm })
    const { id: otherId } = await insertUser({ orm })
    const locking = (accountId: string) => statusOf(transaction(orm, (em) => lock(em, accountId), { accountId }))
    await orm.em.fork().transactional(async (em) => {
      await lock(em, id)
      const waiting = Array.from({ length: 25 }, () => locking(id))
      await eventually('two wait', async () => (await countLockWaits({ orm })) === 2)
      expect(await locking(otherId)).to.equal(200)
      expect(await countLockWaits({ orm })).to.equal(2)
      expect(new Set(await Promise.all(waiting))).to.deep.equal(new Set([503]))
    })
    expect(await locking(id)).to.equal(200)
  })

  it('that deadlock are run again', async () => {
    const [{ id: first }, { id: second }] = [await insertUser({ orm }), await insertUser({ orm })]
    const both = Promise.withResolvers<void>()
    let started = 0
    let runs = 0
    const crossing = (one: string, two: string) =>
      transaction(orm, async (em) => {
        runs += 1
        await lock(em, one)
        started += 1
        if (started === 2) both.resolve()
        await both.promise
        await lock(em, two)
      })

    expect(await Promise.all([crossing(first, second), crossing(second, first)].map(statusOf))).to.deep.equal([
      200, 200,
    ])
    // One more than two at least: PostgreSQL may end both at the same moment.
    expect(runs).to.be.at.least(3)
  })

  it('have one clock', async () => {
    const before = Date.now()
    const times = await orm.em.fork().transactional(async (em) => [await databaseTime(em), await databaseTime(em)])

    // The database runs on this machine: its clock is ours.
    expect(times[0]).to.be.within(before - 1, times[1]!)
    expect(times[1]).to.be.at.most(Date.now() + 1)
  })
})
