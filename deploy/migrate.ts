// `npm run migrate`: brings the database of a distributed instance up to date; safe to run any number of times at once.
import { connectDatabase, migrateDatabase } from '@gatehouse/database'
import { networkVariables, readVariables } from '@gatehouse/service-kit'

const { DATABASE_URL } = networkVariables

try {
  const given = readVariables(process.env, { DATABASE_URL })
  const orm = await connectDatabase({ url: given.DATABASE_URL, applicationName: 'gatehouse-migrate' })
  const applied = await migrateDatabase(orm).finally(() => orm.close())
  console.log(applied.length === 0 ? 'the database is up to date' : `applied ${applied.join(', ')}`)
} catch (error) {
  const isPlain = error instanceof Error && ['ConfigurationError', 'DatabaseUnavailable'].includes(error.name)
  console.error(isPlain ? error.message : error)
  process.exitCode = 1
}
