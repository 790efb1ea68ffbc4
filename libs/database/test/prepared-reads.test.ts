import { InstanceSettings, Invite, User } from '@gatehouse/domain'
import { eventually, insertUser, openMigratedDatabase } from '@gatehouse/test-kit'
import type { EntityClass, EntityManager, MikroORM } from '@mikro-orm/postgresql'
import { expect } from 'chai'
import { batchBy, prepareRead } from '../src/batched-read.ts'
import { DatabaseUnavailable } from '../src/driver.ts'
import { nextId } from '../src/instance.ts'
import { connectDatabase } from '../src/open-database.ts'
import { read } from '../src/rows.ts'

const readBio = prepareRead({ name: 'test_bio', entity: User, properties: ['bio'], where: 'users.id = $1' })
const readSlowly = prepareRead({
  name: 'test_sleep',
  entity: InstanceSettings,
  properties: ['id'],
  where: 'pg_sleep(30) is not null',
})

describe('Prepared reads', () => {
  let database: Awaited<ReturnType<typeof openMigratedDatabase>>
  /** Of one connection, so that every read finds what the one before has prepared, or has left. */
  let orm: MikroORM
  before(async () => {
    database = await openMigratedDatabase()
    orm = await connectDatabase({ url: database.url, connections: 1 })
  })
  after(async () => {
    await orm.close(true)
    await database[Symbol.asyncDispose]()
  })

  it('hold every column of an entity as the entity does', async () => {
    const em = database.orm.em.fork()
    const { id } = await insertUser(database, {
      displayName: 'Ada',
      avatarColor: 'mint',
      passwordChangedAt: 1_700_000_000_001,
      profileUpdatedAt: 5,
      replicatedInstances: [{ origin: 'https://a.example', username: 'ada' }],
    })
    const invite = { id: await nextId(em), token: 't', name: 'n', maxUses: 2, usedCount: 0, createdBy: id }
    const times = { createdAt: new Date(1_700_000_000_123), expiresAt: new Date(7) }
    await em.persist(em.create(Invite, { ...invite, ...times })).flush()

    for (const entity of [User, Invite, InstanceSettings] as EntityClass<object>[]) {
      const { properties, tableName: table } = orm.getMetadata().get(entity)
      const names = Object.keys(properties) as never[]
      const readAll = prepareRead({ name: `test_${table}`, entity, properties: names, where: `${table}.id > $1` })
      for (const attempt of ['prepared', 'repeated']) {
        const expected = (await database.orm.em.fork().findAll(entity)).map((one) => ({ ...one }))
        expect(await readAll(orm.em, [0]), `${table}, ${attempt}`).to.deep.equal(expected)
      }
    }
  })

  it('survive a migration that changes a column, and are refused inside a transaction, which they would not see', async () => {
    const { id } = await insertUser(database, { bio: 'hello' })
    await readBio(orm.em, [id])
    await database.orm.em.fork().execute('alter table users alter column bio type varchar(500)')

    expect(await readBio(orm.em, [id])).to.deep.equal([{ bio: 'hello' }])

    const error = await orm.em
      .fork()
      .transactional(async (em) => await readBio(em, [id]))
      .catch(String)
    expect(error).to.match(/transaction/)
  })

  it('whose connection ends, or that last too long, are unavailable and give the connection back', async () => {
    for (const end of ['pg_terminate_backend', 'pg_cancel_backend']) {
      let hasEnded = false
      const reading = readSlowly(orm.em, [])
        .catch((error: unknown) => error)
        .finally(() => (hasEnded = true))
      // Again until then: the server may still list the connection that the one before has ended.
      await eventually('the read ends', async () => {
        const sql = `select ${end}(pid) from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`
        await database.orm.em.fork().execute(sql)
        return hasEnded
      })

      expect(await reading, end).to.be.instanceOf(DatabaseUnavailable)
      expect(await readBio(orm.em, ['1']), end).to.deep.equal([])
    }
  })

  it('within limits have them in their own statement only, and PostgreSQL cancels one that lasts longer', async () => {
    const limits = `select current_setting('statement_timeout') as time, current_setting('work_mem') as memory, ?::text as text`
    const readWithin = async (statementMs: number, sql: string, parameters: unknown[] = []) =>
      await read<object>(orm.em, sql, parameters, { statementMs, workMem: '33MB' })
    const before = await orm.em.fork().execute<object[]>(limits, ['x'])

    const within = { time: '12345ms', memory: '33MB', text: "o'clock; select 1" }
    expect(await readWithin(12_345, limits, [within.text])).to.deep.equal([within])
    expect(await orm.em.fork().execute<object[]>(limits, ['x'])).to.deep.equal(before)

    expect(await readWithin(50, 'select pg_sleep(30)').catch((error: unknown) => error)).to.be.instanceOf(
      DatabaseUnavailable,
    )
    expect(await orm.em.fork().execute<object[]>(limits, ['x'])).to.deep.equal(before)

    const inside = await orm.em
      .fork()
      .transactional(async (em) => await read(em, 'select 1', [], { statementMs: 50, workMem: '33MB' }))
      .catch(String)
    expect(inside).to.match(/transaction/)
  })
})

describe('Batched reads', () => {
  type Row = { id: string }
  type Read = { ids: string[]; answer(rows: Row[] | Error): void }
  const em = { getConnection: () => orm, isInTransaction: () => false, fork: () => em } as unknown as EntityManager
  const orm = {}
  /** Reads that a test answers; `connections`: those that get one at once. */
  const startReads = (joinMs = Infinity) => {
    const begun: Read[] = []
    let connect: Promise<unknown> = Promise.resolve()
    const byId = batchBy<Row>(
      'id',
      async (_em, values) => {
        await connect
        const [ids] = (typeof values === 'function' ? values() : values) as [string[]]
        return await new Promise((resolve, reject) => {
          const answer = (rows: Row[] | Error) => (rows instanceof Error ? reject(rows) : resolve(rows))
          begun.push({ ids, answer })
        })
      },
      joinMs,
    )
    return {
      begun,
      byId: (id: string) => byId(em, id),
      connectAfter: (wait: Promise<unknown>) => void (connect = wait),
    }
  }
  /** A batch that was begun before has been read by then. */
  const turn = async () => {
    await new Promise((resolve) => setTimeout(resolve))
    await new Promise((resolve) => setImmediate(resolve))
  }

  it('are one statement for all calls of a turn; a call after its begin gets a row of the next one', async () => {
    const { begun, byId } = startReads()
    const early = [byId('1'), byId('2'), byId('007'), byId('1')]
    await turn()
    const late = byId('1')
    await turn()

    expect(begun.map(({ ids }) => ids)).to.deep.equal([['1', '2', '7'], ['1']])
    begun[0]!.answer([{ id: '7' }, { id: '1' }])
    expect(await Promise.all(early)).to.deep.equal([{ id: '1' }, undefined, { id: '7' }, { id: '1' }])
    begun[1]!.answer([])
    expect(await late).to.equal(undefined)
  })

  it('that wait for a connection take in the calls meanwhile, and a fault is that of its own batch', async () => {
    const { begun, byId, connectAfter } = startReads()
    let connected = (_?: unknown): void => undefined
    connectAfter(new Promise((resolve) => (connected = resolve)))
    const first = byId('1').catch(String)
    await turn()
    const second = byId('2').catch(String)
    connected()
    await turn()
    const third = byId('3')
    await turn()

    expect(begun.map(({ ids }) => ids)).to.deep.equal([['1', '2'], ['3']])
    begun[0]!.answer(new Error('gone'))
    begun[1]!.answer([{ id: '3' }])
    expect(await Promise.all([first, second, third])).to.deep.equal(['Error: gone', 'Error: gone', { id: '3' }])
  })

  it('that wait long for a connection are not joined any more: the next one may get a free connection', async () => {
    const { begun, byId, connectAfter } = startReads(0)
    connectAfter(new Promise(() => {}))
    void byId('1')
    await turn()
    connectAfter(Promise.resolve())
    const second = byId('2')
    await turn()

    expect(begun.map(({ ids }) => ids)).to.deep.equal([['2']])
    begun[0]!.answer([{ id: '2' }])
    expect(await second).to.deep.equal({ id: '2' })
  })
})
