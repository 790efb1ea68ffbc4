import { entities } from '@gatehouse/domain'
import { Migrator } from '@mikro-orm/migrations'
import { MikroORM, type Options } from '@mikro-orm/postgresql'
import { DatabaseUnavailable, GuardedDriver, poolOptions } from './driver.ts'
import { applyGrants } from './grants.ts'
import { Migration20261121Accounts } from './migrations/migration-20261121-accounts.ts'
import { Migration20261121Chat } from './migrations/migration-20261121-chat.ts'
import { Migration20261121Federation } from './migrations/migration-20261121-federation.ts'
import { Migration20261121Identities } from './migrations/migration-20261121-identities.ts'
import { Migration20261121Sessions } from './migrations/migration-20261121-sessions.ts'
import { Migration20261122FederationLimits } from './migrations/migration-20261122-federation-limits.ts'
import { Migration20261122OwnData } from './migrations/migration-20261122-own-data.ts'
import { Migration20261122Traces } from './migrations/migration-20261122-traces.ts'
import { Migration20261123AuditIds } from './migrations/migration-20261123-audit-ids.ts'
import { Migration20261123PeerResets } from './migrations/migration-20261123-peer-resets.ts'
import { Migration20261123UserSearch } from './migrations/migration-20261123-user-search.ts'
import { defaultConnections } from './policy.ts'
import { createRoles } from './roles.ts'
import { allowLongWork } from './transaction.ts'
import { chooseTls, explainTls, type DatabaseTls } from './tls.ts'

export type DatabaseOptions = {
  url: string
  connections?: number
  applicationName?: string
}

const migrations = [
  Migration20261121Accounts,
  Migration20261121Chat,
  Migration20261121Federation,
  Migration20261121Identities,
  Migration20261121Sessions,
  Migration20261122FederationLimits,
  Migration20261122OwnData,
  Migration20261122Traces,
  Migration20261123PeerResets,
  Migration20261123AuditIds,
  Migration20261123UserSearch,
].map((migration) => ({
  name: migration.name,
  class: migration,
}))

/** Also for the command line of MikroORM. `ssl` comes from `chooseTls`. */
export function databaseOptions(options: DatabaseOptions, ssl: DatabaseTls = false): Options {
  return {
    driver: GuardedDriver,
    clientUrl: options.url,
    entities,
    extensions: [Migrator],
    migrations: { migrationsList: migrations, snapshot: false, transactional: true, allOrNothing: true },
    pool: { min: 0, max: options.connections ?? defaultConnections },
    driverOptions: {
      application_name: options.applicationName ?? 'gatehouse',
      ...poolOptions,
      ssl,
    },
    forceUtcTimezone: true,
    logger: () => undefined,
  }
}

/** Does not look at the schema. Throws DatabaseUnavailable. */
export async function connectDatabase(options: DatabaseOptions): Promise<MikroORM> {
  return await connect(options, databaseOptions(options, await chooseTls(options.url)))
}

async function connect({ url }: DatabaseOptions, options: Options): Promise<MikroORM> {
  const orm = new MikroORM(options)
  try {
    await orm.em.fork().execute('select 1')
    return orm
  } catch (cause) {
    await orm.close(true)
    const why = explainTls(cause)
    const remedy = why === undefined ? '; check the variable and that the server runs' : `: ${why}`
    throw new DatabaseUnavailable(`DATABASE_URL: cannot reach PostgreSQL at ${addressOf(url)}${remedy}`, { cause })
  }
}

/** Refuses pending migrations. Throws DatabaseUnavailable. */
export async function openDatabase(options: DatabaseOptions): Promise<MikroORM> {
  const orm = await connectDatabase(options)
  const fault = await findSchemaFault(orm)
  if (fault === null) return orm
  await orm.close(true)
  throw new DatabaseUnavailable(`DATABASE_URL: ${fault}: run \`npm run migrate\` first`)
}

/** The migrator would create its table. The role of a service may not. */
async function findSchemaFault(orm: MikroORM): Promise<string | null> {
  const [found] = await orm.em.fork().execute<{ isMigrated: boolean; isGranted: boolean | null }[]>(
    `select to_regclass('mikro_orm_migrations') is not null as "isMigrated",
       has_table_privilege(to_regclass('mikro_orm_migrations'), 'select') as "isGranted"`,
  )
  if (!found?.isMigrated) return `the database has ${migrations.length} pending migrations`
  if (!found.isGranted) return 'the role has no grants in this database'
  const pending = await orm.migrator.getPending()
  return pending.length === 0 ? null : `the database has ${pending.length} pending migrations`
}

const migrationLock = 0x6761_7465

/** Many callers may run it at once. Gives the names of the applied migrations. */
export async function migrateDatabase(orm: MikroORM): Promise<string[]> {
  return await orm.em.fork().transactional(async (em) => {
    await allowLongWork(em, { lockMs: 0, statementMs: 0 })
    await em.execute('select pg_advisory_xact_lock(?)', [migrationLock])
    const applied = await orm.migrator.up({ transaction: em.getTransactionContext() as object })
    await applyGrants(em)
    return applied.map((migration) => migration.name)
  })
}

/** Makes roles, schema and grants as the owner. Throws DatabaseUnavailable. */
export async function prepareDatabase(ownerUrl: string): Promise<void> {
  const options = { url: ownerUrl, connections: 2, applicationName: 'gatehouse-migrate' }
  // Migrations are SQL: the start is faster without entities.
  const withoutEntities = { entities: [], discovery: { warnWhenNoEntities: false } }
  const orm = await connect(options, { ...databaseOptions(options, await chooseTls(ownerUrl)), ...withoutEntities })
  try {
    await createRoles(orm.em.fork(), ownerUrl)
    await migrateDatabase(orm)
  } finally {
    await orm.close(true)
  }
}

function addressOf(url: string): string {
  if (!URL.canParse(url)) return 'an address that is not a URL'
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}
