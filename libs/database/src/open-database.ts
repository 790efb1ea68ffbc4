import { MikroORM, type Options } from '@mikro-orm/postgresql'
import { Migrator } from '@mikro-orm/migrations'
import { entities } from '@gatehouse/domain'
import { reclaimDeadConnections } from './reclaim-dead-connections.ts'
import { Migration20261121Accounts } from './migrations/migration-20261121-accounts.ts'
import { Migration20261121Chat } from './migrations/migration-20261121-chat.ts'

/** The database cannot be used; `message` is one line that names the variable and the remedy. */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable'
}

export type DatabaseOptions = {
  url: string
  /** Most connections this process holds. */
  connections?: number
  /** Appears in pg_stat_activity. */
  applicationName?: string
}

const migrations = [Migration20261121Accounts, Migration20261121Chat].map((migration) => ({
  name: migration.name,
  class: migration,
}))

/** What MikroORM is told, here and on its command line. */
export function databaseOptions(options: DatabaseOptions): Options {
  return {
    clientUrl: options.url,
    entities,
    extensions: [Migrator],
    migrations: { migrationsList: migrations, snapshot: false, transactional: true, allOrNothing: true },
    pool: { min: 0, max: options.connections ?? 10 },
    driverOptions: {
      application_name: options.applicationName ?? 'gatehouse',
      connectionTimeoutMillis: 5_000,
      onPoolCreated: reclaimDeadConnections,
    },
    forceUtcTimezone: true,
    logger: () => undefined,
  }
}

/** Opens the database without looking at its schema. Throws DatabaseUnavailable when it does not answer. */
export async function connectDatabase(options: DatabaseOptions): Promise<MikroORM> {
  const orm = new MikroORM(databaseOptions(options))
  try {
    await orm.em.fork().execute('select 1')
    return orm
  } catch (cause) {
    await orm.close(true)
    const place = placeOf(options.url)
    throw new DatabaseUnavailable(
      `DATABASE_URL: cannot reach PostgreSQL at ${place}; check the variable and that the server runs`,
      { cause },
    )
  }
}

/** Opens the database for a service, which refuses to start on pending migrations. Throws DatabaseUnavailable. */
export async function openDatabase(options: DatabaseOptions): Promise<MikroORM> {
  const orm = await connectDatabase(options)
  const pending = await orm.migrator.getPending()
  if (pending.length === 0) return orm
  await orm.close(true)
  throw new DatabaseUnavailable(
    `DATABASE_URL: the database has ${pending.length} pending migrations: run \`npm run migrate\` first`,
  )
}

const migrationLock = 0x6761_7465

/** Brings the schema up to date; any number of callers at once, one of them does it. Gives the names it applied. */
export async function migrateDatabase(orm: MikroORM): Promise<string[]> {
  return await orm.em.fork().transactional(async (em) => {
    await em.execute('select pg_advisory_xact_lock(?)', [migrationLock])
    const applied = await orm.migrator.up()
    return applied.map((migration) => migration.name)
  })
}

/** Host, port and database of a URL, without its credentials. */
function placeOf(url: string): string {
  if (!URL.canParse(url)) return 'an address that is not a URL'
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}
