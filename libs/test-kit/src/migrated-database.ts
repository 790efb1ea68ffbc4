import { connectDatabase, prepareDatabase, urlForRole, type DatabaseClient } from '@gatehouse/database'
import type { MikroORM } from '@mikro-orm/postgresql'
import { testDatabase } from './test-database.ts'

export type MigratedDatabase = AsyncDisposable & {
  /** For the owner of the schema: tests prepare and look at what a service may not. */
  url: string
  /** For the role of a service, with its grants. */
  urlFor(client: DatabaseClient): string
}

/** A database of this test's own with the whole schema and the roles of the services in it; dropped on dispose. */
export async function migratedDatabase(): Promise<MigratedDatabase> {
  const database = await testDatabase({ template: { key: 'migrated', build: prepareDatabase } })
  return { ...database, urlFor: (client) => urlForRole(database.url, client) }
}

/** The same, with an ORM of `connections` on it, as the owner. */
export async function openMigratedDatabase(
  options: { connections?: number } = {},
): Promise<MigratedDatabase & { orm: MikroORM }> {
  await using opening = new AsyncDisposableStack()
  const database = opening.use(await migratedDatabase())
  const orm = opening.adopt(await connectDatabase({ url: database.url, ...options }), (open) => open.close(true))
  const open = opening.move()
  return { ...database, orm, [Symbol.asyncDispose]: () => open.disposeAsync() }
}
