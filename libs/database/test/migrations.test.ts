import { expect } from 'chai'
import { User } from '@gatehouse/domain'
import { openMigratedDatabase, testDatabase } from '@gatehouse/test-kit'
import { DatabaseUnavailable } from '../src/driver.ts'
import { loadInstanceSettings } from '../src/instance.ts'
import { connectDatabase, migrateDatabase, openDatabase, requireKnownSchema } from '../src/open-database.ts'
import { read } from '../src/rows.ts'
import { previousRelease, readSchema } from '../src/schema-release.ts'

describe('migrations', () => {
  it('are applied once by any number of concurrent callers, and keep the worker id', async () => {
    await using database = await testDatabase()
    await using opening = new AsyncDisposableStack()
    const connect = async () => opening.adopt(await connectDatabase(database), (orm) => orm.close())
    const orms = [await connect(), await connect(), await connect()]

    const applied = await Promise.all(orms.map((orm) => migrateDatabase(orm)))
    const { workerId, instanceId } = await loadInstanceSettings(orms[0]!.em.fork())
    const later = await migrateDatabase(orms[1]!)

    expect(applied.filter((names) => names.length > 0)).to.have.length(1)
    expect(later).to.deep.equal([])
    expect(workerId).to.be.within(0, 1023)
    expect(await loadInstanceSettings(orms[2]!.em.fork())).to.include({ workerId, instanceId })
  })

  it('draw the worker id at random, each instance its own', async () => {
    const drawn = new Set<number>()
    for (let attempt = 0; attempt < 5; attempt += 1) drawn.add(await drawWorkerId())

    // Of five draws from 1,024, two equal ones come once in a hundred runs, five equal ones once in 10^12.
    expect(drawn.size).to.be.greaterThan(1)
  })

  it('that are pending keep a service from starting, with a message that names the command', async () => {
    await using database = await testDatabase()

    const refusal = await openDatabase(database).catch((error: unknown) => error)

    expect(refusal).to.be.instanceOf(DatabaseUnavailable)
    expect((refusal as Error).message).to.match(/npm run migrate/)
  })

  /** Contract: 8, Schema. */
  it('of a later release are refused by every program, unless that release says that this one may run', async () => {
    await using database = await openMigratedDatabase()
    const { em } = database.orm
    const attempts = () =>
      Promise.allSettled([tryOpen(database), migrateDatabase(database.orm), requireKnownSchema(database.orm)])
    const mark = (text: string) => em.fork().execute(`comment on table mikro_orm_migrations is '${text}'`)
    await em.fork().execute(`insert into mikro_orm_migrations (name, executed_at) values ('Migration2099Later', now())`)

    await mark('gatehouse 9.1.0, for 0.1.0 and later')
    expect((await attempts()).map(({ status }) => status)).to.deep.equal(['fulfilled', 'fulfilled', 'fulfilled'])
    for (const text of ['gatehouse 9.1.0, for 9.0.0 and later', '']) {
      await mark(text)
      for (const attempt of await attempts()) {
        expect((attempt as PromiseRejectedResult).reason).to.be.instanceOf(DatabaseUnavailable)
        expect(String((attempt as PromiseRejectedResult).reason)).to.match(/newer than this program .*knows: run that/)
      }
    }
  })

  /** Contract: 8, Schema. */
  it('that an earlier release has all applied get the mark of this one, and keep that of a later one', async () => {
    await using database = await openMigratedDatabase()
    const { em } = database.orm
    const own = (await readSchema(em.fork())).mark
    const markAfter = async (text: string) => {
      await em.fork().execute(`comment on table mikro_orm_migrations is '${text}'`)
      expect(await migrateDatabase(database.orm)).to.deep.equal([])
      return (await readSchema(em.fork())).mark
    }

    expect(await markAfter('gatehouse 0.3.0, for 0.2.0 and later')).to.deep.equal(own)
    expect(await markAfter('gatehouse 9.1.0, for 0.4.0 and later')).to.include({ release: '9.1.0' })
  })

  it('are refused on a schema that is more than one release older', async () => {
    await using database = await openMigratedDatabase()
    await database.orm.em
      .fork()
      .execute('delete from mikro_orm_migrations where name = ?', [previousRelease.lastMigration])

    for (const attempt of await Promise.allSettled([migrateDatabase(database.orm), tryOpen(database)]))
      expect(String((attempt as PromiseRejectedResult).reason)).to.match(/older than this program .*upgrade to 0\.3\.0/)
  })

  it('that fail are named in one line, with the reason, and have changed nothing', async () => {
    await using database = await testDatabase()
    await using opening = new AsyncDisposableStack()
    const orm = opening.adopt(await connectDatabase(database), (open) => open.close())
    await orm.em.fork().execute('create table spaces (id int)')

    const failure = await migrateDatabase(orm).catch((error: unknown) => error)

    expect(failure).to.be.instanceOf(DatabaseUnavailable)
    expect((failure as Error).message).to.match(
      /^DATABASE_URL: Migration\w+ failed, nothing was changed: .*"spaces" already exists$/,
    )
    const tables = await read<{ name: string }>(
      orm.em.fork(),
      `select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'mikro_orm_migrations'`,
    )
    expect(tables).to.deep.equal([{ name: 'spaces' }])
    expect(await orm.migrator.getExecuted()).to.deep.equal([])
  })

  it('give every foreign key an index on its own side', async () => {
    await using database = await openMigratedDatabase()

    const unindexedKeys = await read(
      database.orm.em.fork(),
      `select c.conrelid::regclass::text as "table", c.conname as name from pg_constraint c
       where c.contype = 'f' and not exists (
         select from pg_index i where i.indrelid = c.conrelid
         and (i.indkey::smallint[])[0:cardinality(c.conkey) - 1] @> c.conkey
       )`,
    )

    expect(unindexedKeys).to.deep.equal([])
  })
})

async function tryOpen(database: { url: string }): Promise<void> {
  await (await openDatabase(database)).close()
}

/** The worker id of an instance that is migrated now. */
async function drawWorkerId(): Promise<number> {
  await using database = await testDatabase()
  await using opening = new AsyncDisposableStack()
  const orm = opening.adopt(await connectDatabase(database), (open) => open.close())
  await migrateDatabase(orm)
  return (await loadInstanceSettings(orm.em.fork())).workerId
}

describe('Instance settings: the table', () => {
  it('are one row with its defaults; a second is refused', async () => {
    await using database = await openMigratedDatabase()
    const em = database.orm.em.fork()

    const second = em.execute('insert into instance_settings (id, worker_id) values (2, 1)')

    expect(await second.catch((error: unknown) => error)).to.be.an('error')
    expect(await loadInstanceSettings(em)).to.deep.include({
      id: 1,
      registrationOpen: null,
      federatedRegistrationOpen: true,
      autoAcceptPeering: false,
      reservedUsernames: [],
      proofOfWork: 'off',
      memberInvites: 0,
    })
    expect(await read(em, 'select id from instance_settings')).to.have.length(1)
  })
})

describe('User record: the table', () => {
  it('has the defaults of a new account', async () => {
    await using database = await openMigratedDatabase()
    const em = database.orm.em.fork()

    await em.execute("insert into users (id, username, password_hash) values (5, 'ada', 'x')")

    expect(await em.findOneOrFail(User, { id: '5' })).to.deep.include({
      status: 'offline',
      isAdmin: false,
      isDeleted: false,
      passwordChangedAt: null,
      replicatedInstances: [],
      homeInstance: null,
      homeUserId: null,
      discoverable: true,
      showActivity: true,
      profileUpdatedAt: 0,
    })
  })

  it('refuses a second account of a name or of a live identity, and a homeUserId without its home', async () => {
    await using database = await openMigratedDatabase()
    const em = database.orm.em.fork()
    let id = 0
    const insert = async (username: string, home: [string | null, string | null], isDeleted = false) => {
      id += 1
      const row = [id, username, ...home, isDeleted]
      const sql = `insert into users (id, username, password_hash, home_instance, home_user_id, is_deleted)
        values (?, ?, 'x', ?, ?, ?)`
      return await em.execute(sql, row).then(
        () => 'inserted',
        (error: { constraint?: string }) => error.constraint,
      )
    }

    expect(await insert('ada', [null, null])).to.equal('inserted')
    expect(await insert('ada', [null, null])).to.equal('users_username_unique')
    expect(await insert('a@h', ['h', '1'])).to.equal('inserted')
    expect(await insert('b@h', ['h', '1'])).to.equal('users_identity_unique')
    expect(await insert('c@h', ['h', '1'], true)).to.equal('inserted')
    expect(await insert('d', [null, '1'])).to.equal('users_home_user_needs_home')
  })
})

describe('an unreachable database', () => {
  it('is reported in one line that names the variable and no password', async () => {
    const url = 'postgres://gatehouse:hunter2@127.0.0.1:1/gatehouse'

    const refusal = await connectDatabase({ url }).catch((error: unknown) => error)

    expect(refusal).to.be.instanceOf(DatabaseUnavailable)
    expect((refusal as Error).message).to.match(/^DATABASE_URL.*127\.0\.0\.1:1\/gatehouse/)
    expect((refusal as Error).message).to.not.match(/hunter2/)
  })
})
