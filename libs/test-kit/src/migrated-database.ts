import { connectDatabase, migrateDatabase } from '@gatehouse/database'
import type { MikroORM } from '@mikro-orm/postgresql'
import { testDatabase } from './test-database.ts'

/** A database of this test's own with the whole schema in it; dropped on dispose. */
export async function migratedDatabase(): Promise<AsyncDisposable & { url: string }> {
  return await testDatabase({ template: { key: 'migrated', build: migrate } })
}

/** The same, with an ORM of `connections` on it. */
export async function openMigratedDatabase(
  options: { connections?: number } = {},
): Promise<AsyncDisposable & { url: string; orm: MikroORM }> {
  await using opening = new AsyncDisposableStack()
  const { url } = opening.use(await migratedDatabase())
  const orm = opening.adopt(await connectDatabase({ url, ...options }), (open) => open.close(true))
  const open = opening.move()
  return { url, orm, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

async function migrate(url: string): Promise<void> {
  const orm = await connectDatabase({ url })
  await migrateDatabase(orm)
  await orm.close()
}
