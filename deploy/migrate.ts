// `npm run migrate`: applies pending migrations to the database of a distributed instance. Concurrent runs are safe.
import { connectDatabase, DatabaseUnavailable, migrateDatabase } from '@gatehouse/database'
import { ConfigurationError, networkVariables, readVariables } from '@gatehouse/service-kit'

const { DATABASE_URL } = networkVariables

try {
  const given = readVariables(process.env, { DATABASE_URL })
  const orm = await connectDatabase({ url: given.DATABASE_URL, applicationName: 'gatehouse-migrate' })
  const applied = await migrateDatabase(orm).finally(() => orm.close())
  console.log(applied.length === 0 ? 'the database is up to date' : `applied ${applied.join(', ')}`)
} catch (error) {
  const isExpected = error instanceof ConfigurationError || error instanceof DatabaseUnavailable
  console.error(isExpected ? error.message : error)
  process.exitCode = 1
}
