import { entities } from '@gatehouse/domain'
import { compareVersions, version } from '@gatehouse/runtime'
import { Migration, Migrator } from '@mikro-orm/migrations'
import { MikroORM, type EntityManager, type Options } from '@mikro-orm/postgresql'
import { DatabaseUnavailable, GuardedDriver, poolOptions } from './driver.ts'
import { applyGrants } from './grants.ts'
import { release020 } from './migrations/release-0.2.0.ts'
import { release030 } from './migrations/release-0.3.0.ts'
import { release040 } from './migrations/release-0.4.0.ts'
import { defaultConnections } from './policy.ts'
import { createRoles } from './roles.ts'
import { findReleaseFault, markSchema, readSchema, type Schema } from './schema-release.ts'
import { explainServerFault } from './server-faults.ts'
import { explainConnectFault, findServer, followServers, type Server } from './servers.ts'
import { allowLongWork, takesWrites } from './transaction.ts'

export type DatabaseOptions = {
  url: string
  connections?: number
  applicationName?: string
  /** `openDatabase` refuses a read-only server. */
  needsWrites?: boolean
}

const migrations = Object.entries({ ...release020, ...release030, ...release040 }).map(([name, statements]) => ({
  name,
  class: class extends Migration {
    override up(): void {
      for (const sql of statements) this.addSql(sql)
    }
  },
}))

const names = migrations.map(({ name }) => name)

/** Also for the command line of MikroORM. `server` comes from `findServer`. */
export function databaseOptions(options: DatabaseOptions, server?: Server): Options {
  const { connections = defaultConnections, applicationName = 'gatehouse' } = options
  const servers = server && followServers(options.url, server)
  return {
    driver: GuardedDriver,
    clientUrl: server?.url ?? options.url,
    entities,
    extensions: [Migrator],
    migrations: { migrationsList: migrations, snapshot: false, transactional: true, allOrNothing: true },
    pool: { min: 0, max: connections },
    driverOptions: { application_name: applicationName, ...poolOptions, ssl: server?.ssl ?? false, servers },
    forceUtcTimezone: true,
    logger: () => undefined,
  }
}

/** Does not look at the schema. Throws DatabaseUnavailable. */
export async function connectDatabase(options: DatabaseOptions): Promise<MikroORM> {
  const server = await findServer(options.url)
  return await connect(server, databaseOptions(options, server))
}

async function connect({ url }: Server, options: Options): Promise<MikroORM> {
  const orm = new MikroORM(options)
  try {
    await orm.em.fork().execute('select 1')
    return orm
  } catch (cause) {
    await orm.close(true)
    const why = explainConnectFault(cause)
    const remedy = why === undefined ? '; check the variable and that the server runs' : `: ${why}`
    throw new DatabaseUnavailable(`DATABASE_URL: cannot reach PostgreSQL at ${addressOf(url)}${remedy}`, { cause })
  }
}

/** Refuses pending migrations and a schema of another time. Throws DatabaseUnavailable, without cause and fault for these. Contract: 8, schema. */
export async function openDatabase(options: DatabaseOptions): Promise<MikroORM> {
  const orm = await connectDatabase(options)
  const fault = await findSchemaFault(orm)
  const isUsable = fault === null && (!options.needsWrites || (await takesWrites(orm.em.fork())))
  if (isUsable) return orm
  await orm.close(true)
  if (fault !== null) throw new DatabaseUnavailable(`DATABASE_URL: ${fault}`)
  throw new DatabaseUnavailable(`DATABASE_URL: ${explainServerFault('readOnly')}`, { fault: 'readOnly' })
}

/** The migrator would create its table. The role of a service may not. */
async function findSchemaFault(orm: MikroORM): Promise<string | null> {
  const schema = await readSchema(orm.em.fork())
  const remedy = 'run `npm run migrate` first'
  if (!schema.isMigrated) return `the database has ${migrations.length} pending migrations: ${remedy}`
  if (!schema.isReadable) return `the role has no grants in this database: ${remedy}`
  const fault = findReleaseFault(schema, names)
  if (fault !== null) return fault
  const pending = await orm.migrator.getPending()
  return pending.length === 0 ? null : `the database has ${pending.length} pending migrations: ${remedy}`
}

/** For commands that take the schema as it is. Throws DatabaseUnavailable. Contract: 8, schema. */
export async function requireKnownSchema({ em }: Pick<MikroORM, 'em'>): Promise<void> {
  await refuseOtherRelease(em.fork())
}

/** Of this program, which a database with `applied` ones lacks. */
export const pendingMigrations = (applied: readonly string[]): string[] =>
  names.filter((name) => !applied.includes(name))

async function refuseOtherRelease(em: EntityManager): Promise<Schema> {
  const schema = await readSchema(em)
  const fault = findReleaseFault(schema, names)
  if (fault !== null) throw new DatabaseUnavailable(`DATABASE_URL: ${fault}`)
  return schema
}

const migrationLock = 0x6761_7465

/** Many callers may run it at once. Gives the names of the applied migrations. Throws DatabaseUnavailable. */
export async function migrateDatabase(orm: MikroORM): Promise<string[]> {
  return await orm.em.fork().transactional(async (em) => {
    await allowLongWork(em, { lockMs: 0, statementMs: 0 })
    await em.execute('select pg_advisory_xact_lock(?)', [migrationLock])
    const { mark } = await refuseOtherRelease(em)
    const applied = await applyPending(orm, em)
    // An earlier release may have applied the same migrations, for programs that this one does not let run.
    const isMarkOlder = mark !== null && compareVersions(mark.release, version) < 0
    if (applied.length > 0 || isMarkOlder) await markSchema(em)
    await applyGrants(em)
    return applied
  })
}

async function applyPending(orm: MikroORM, em: EntityManager): Promise<string[]> {
  let current = ''
  orm.migrator.on('migrating', ({ name }) => void (current = name))
  try {
    const applied = await orm.migrator.up({ transaction: em.getTransactionContext() as object })
    return applied.map(({ name }) => name)
  } catch (cause) {
    if (cause instanceof DatabaseUnavailable && cause.fault !== 'denied') throw cause
    const [reason] = (cause as Error).message.split('\n').slice(-1)
    throw new DatabaseUnavailable(`DATABASE_URL: ${current} failed, nothing was changed: ${reason}`, { cause })
  }
}

/** Makes roles, schema and grants as the owner. Throws DatabaseUnavailable. */
export async function prepareDatabase(ownerUrl: string): Promise<void> {
  const options = { url: ownerUrl, connections: 2, applicationName: 'gatehouse-migrate' }
  // Migrations are SQL: the start is faster without entities.
  const withoutEntities = { entities: [], discovery: { warnWhenNoEntities: false } }
  const server = await findServer(ownerUrl)
  const orm = await connect(server, { ...databaseOptions(options, server), ...withoutEntities })
  try {
    await createRoles(orm.em.fork(), server.url)
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
