import { connectDatabase, migrateDatabase } from '@gatehouse/database'
import { testDatabase } from '@gatehouse/test-kit'

/** A database of one's own with the whole schema in it. */
export async function migratedDatabase() {
  return await testDatabase({ template: { key: 'migrated', build } })
}

async function build(url: string): Promise<void> {
  const orm = await connectDatabase({ url })
  await migrateDatabase(orm)
  await orm.close()
}
