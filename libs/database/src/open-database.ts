import { entities } from '@gatehouse/domain'
import { Migrator } from '@mikro-orm/migrations'
import { MikroORM, type Options } from '@mikro-orm/postgresql'
import { DatabaseUnavailable, guardPool } from './connection-faults.ts'
import { GuardedDriver } from './guarded-driver.ts'
import { Migration20261121Accounts } from './migrations/migration-20261121-accounts.ts'
import { Migration20261121Chat } from './migrations/migration-20261121-chat.ts'
import { Migration20261121Federation } from './migrations/migration-20261121-federation.ts'
import { Migration20261121Identities } from './migrations/migration-20261121-identities.ts'
import { Migration20261121Sessions } from './migrations/migration-20261121-sessions.ts'
import { connectTimeoutMs, defaultConnections, sessionTimeouts } from './policy.ts'

export type DatabaseOptions = {
  url: string
  /** Most connections this process holds. */
  connections?: number
  /** Appears in pg_stat_activity. */
  applicationName?: string
}

const migrations = [
  Migration20261121Accounts,
  Migration20261121Chat,
  Migration20261121Federation,
  Migration20261121Identities,
  Migration20261121Sessions,
].map((migration) => ({
  name: migration.name,
  class: migration,
}))

/** The configuration of MikroORM, here and for its command line. */
export function databaseOptions(options: DatabaseOptions): Options {
  return {
    driver: GuardedDriver,
    clientUrl: options.url,
    entities,
    extensions: [Migrator],
    migrations: { migrationsList: migrations, snapshot: false, transactional: true, allOrNothing: true },
    pool: { min: 0, max: options.connections ?? defaultConnections },
    driverOptions: {
      application_name: options.applicationName ?? 'gatehouse',
      connectionTimeoutMillis: connectTimeoutMs,
      ...sessionTimeouts,
      onPoolCreated: guardPool,
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
    const address = addressOf(options.url)
    throw new DatabaseUnavailable(
      `DATABASE_URL: cannot reach PostgreSQL at ${address}; check the variable and that the server runs`,
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

/** Brings the schema up to date, once for any number of concurrent callers. Gives the names of the applied migrations. */
export async function migrateDatabase(orm: MikroORM): Promise<string[]> {
  return await orm.em.fork().transactional(async (em) => {
    await em.execute('set local lock_timeout = 0')
    await em.execute('set local statement_timeout = 0')
    await em.execute('select pg_advisory_xact_lock(?)', [migrationLock])
    const applied = await orm.migrator.up({ transaction: em.getTransactionContext() as object })
    return applied.map((migration) => migration.name)
  })
}

/** Host, port and database of a URL, without its credentials. */
function addressOf(url: string): string {
  if (!URL.canParse(url)) return 'an address that is not a URL'
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}
