import { testDatabase } from '@gatehouse/test-kit'
import { connectDatabase, migrateDatabase } from '../src/open-database.ts'

/** An empty database of one's own with everything migrated, and an ORM on it. */
export async function openTestDatabase(options: { connections?: number } = {}) {
  await using opening = new AsyncDisposableStack()
  const { url } = opening.use(await testDatabase({ template: { key: 'migrated', build: migrate } }))
  const orm = opening.adopt(await connectDatabase({ url, ...options }), (open) => open.close())
  const open = opening.move()
  return { url, orm, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

async function migrate(url: string): Promise<void> {
  const orm = await connectDatabase({ url })
  await migrateDatabase(orm)
  await orm.close()
}
