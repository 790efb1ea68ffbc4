import { entities } from '@gatehouse/domain'
import { openMigratedDatabase, testDatabase } from '@gatehouse/test-kit'
import type { MikroORM } from '@mikro-orm/postgresql'
import { expect } from 'chai'
import {
  connectDatabase,
  createRoles,
  databaseServices,
  grants,
  migrateDatabase,
  openDatabase,
  roleOf,
  urlForRole,
} from '../src/index.ts'
import { sessionTimeouts } from '../src/policy.ts'

describe('The database roles of the services', () => {
  const resources = new AsyncDisposableStack()
  let database: Awaited<ReturnType<typeof openMigratedDatabase>>
  const orms = new Map<string, MikroORM>()

  before(async () => {
    database = resources.use(await openMigratedDatabase())
    for (const client of [...databaseServices, 'embedded'] as const) {
      const url = database.urlFor(client)
      orms.set(
        client,
        resources.adopt(await connectDatabase({ url, connections: 1 }), (orm) => orm.close(true)),
      )
    }
  })
  after(() => resources.disposeAsync())

  const run = (client: string, sql: string) => orms.get(client)!.em.fork().execute<Record<string, unknown>[]>(sql)
  const outcome = async (client: string, sql: string) =>
    await run(client, sql).then(
      () => 'allowed',
      (error: { fault?: string }) => (error.fault === 'denied' ? 'denied' : error),
    )

  it('read the columns of users that they need: only identity reads password hashes', async () => {
    for (const client of databaseServices) {
      const expected = client === 'identity' ? 'allowed' : 'denied'
      expect(await outcome(client, 'select password_hash from users'), client).to.equal(expected)
      expect(await outcome(client, 'select * from users'), client).to.equal(expected)
      expect(await outcome(client, 'select id, is_deleted, is_admin, password_changed_at from users'), client).to.equal(
        'allowed',
      )
    }
  })

  it('let no service but identity change an account; the others change the status, for the lock of a row', async () => {
    for (const client of ['invite', 'session-gateway', 'federation-fanout']) {
      for (const change of ['is_admin = true', "password_hash = ''", 'is_deleted = true', 'password_changed_at = 0']) {
        expect(await outcome(client, `update users set ${change}`), `${client}: ${change}`).to.equal('denied')
      }
      expect(await outcome(client, "update users set status = 'offline'"), client).to.equal('allowed')
      expect(await outcome(client, 'select id from users for share'), client).to.equal('allowed')
      expect(await outcome(client, "insert into users (id, username, password_hash) values (1, 'a', 'b')")).to.equal(
        'denied',
      )
      expect(await outcome(client, 'delete from users'), client).to.equal('denied')
    }
  })

  it('keep the secrets of peers and the tokens of invites to the services whose they are', async () => {
    expect(await outcome('federation-fanout', 'select secret from peers')).to.equal('allowed')
    for (const client of ['identity', 'invite', 'session-gateway']) {
      expect(await outcome(client, 'select secret from peers'), client).to.equal('denied')
    }
    for (const client of ['session-gateway', 'federation-fanout']) {
      expect(await outcome(client, 'select token from invites'), client).to.equal('denied')
    }
  })

  it('change no schema and are not superuser, that of all services together neither', async () => {
    for (const client of [...databaseServices, 'embedded']) {
      expect(await outcome(client, 'drop table outbox'), client).to.equal('denied')
      expect(await outcome(client, 'alter table users add column x text'), client).to.equal('denied')
      expect(await outcome(client, 'create table own (x text)'), client).to.equal('denied')
      expect(await outcome(client, "copy outbox from '/etc/hostname'"), client).to.equal('denied')
      expect(await outcome(client, 'set role postgres'), client).to.equal('denied')
    }
  })

  it('of all services in one process may do what each of them may', async () => {
    expect(await outcome('embedded', 'select password_hash from users')).to.equal('allowed')
    expect(await outcome('embedded', 'select secret from peers')).to.equal('allowed')
    expect(await outcome('embedded', "select nextval('presence_versions')")).to.equal('allowed')
  })

  it('bound what waits, for every client that connects as them', async () => {
    const roles = [...databaseServices, 'embedded' as const].map(roleOf)
    const rows = await database.orm.em
      .fork()
      .execute<{ rolname: string; rolconfig: string[] }[]>(
        'select rolname, rolconfig from pg_roles where rolname = any(?::text[])',
        [`{${roles.join(',')}}`],
      )

    expect(rows.map(({ rolname }) => rolname)).to.have.members(roles)
    for (const { rolname, rolconfig } of rows) {
      expect(rolconfig, rolname).to.have.members(Object.entries(sessionTimeouts).map(([name, ms]) => `${name}=${ms}`))
    }
  })

  it('have grants on every table of the entities, and on tables of the schema only', async () => {
    const granted = new Set(databaseServices.flatMap((service) => Object.keys(grants[service].tables)))
    const rows = await database.orm.em
      .fork()
      .execute<{ tablename: string }[]>("select tablename from pg_tables where schemaname = 'public'")
    const tables = rows.map(({ tablename }) => tablename)

    expect(tables).to.include.members([...granted])
    for (const { meta } of entities) {
      expect([...granted], `libs/database/src/grants.ts: which service uses ${meta.tableName}?`).to.include(
        meta.tableName,
      )
    }
  })
})

describe('Grants', () => {
  it('come with the migrations, also for tables that came later, and go when the list no longer has them', async () => {
    await using database = await testDatabase()
    await using opening = new AsyncDisposableStack()
    const owner = opening.adopt(await connectDatabase(database), (orm) => orm.close(true))
    await createRoles(owner.em.fork(), database.url)
    const url = urlForRole(database.url, 'invite')
    const refusal = await openDatabase({ url }).catch((error: unknown) => error)
    expect(refusal).to.match(/pending migrations: run `npm run migrate` first/)

    await migrateDatabase(owner)
    await owner.em.fork().execute('revoke all on invites from gatehouse_invite')
    await owner.em.fork().execute('grant select on outbox, peers to gatehouse_invite')
    await migrateDatabase(owner)

    const invite = opening.adopt(await openDatabase({ url }), (orm) => orm.close(true))
    await invite.em.fork().execute('select token from invites')
    const denied = await invite.em
      .fork()
      .execute('select secret from peers')
      .catch((error: unknown) => error)
    expect(denied).to.have.property('fault', 'denied')
  })

  it('that a role lacks stop the start of its service with one line', async () => {
    await using database = await openMigratedDatabase()
    await database.orm.em.fork().execute('revoke all on all tables in schema public from gatehouse_invite')

    const refusal = await openDatabase({ url: database.urlFor('invite') }).catch((error: unknown) => error)

    expect(refusal).to.have.property(
      'message',
      'DATABASE_URL: the role has no grants in this database: run `npm run migrate` first',
    )
  })
})
