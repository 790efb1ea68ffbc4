// `npm run migrate`: applies pending migrations to the database of a distributed instance. Concurrent runs are safe.
import { connectDatabase, listServicesWithoutRole, migrateDatabase } from '@gatehouse/database'
import { createLog, readVariables, reportStartError, settings } from '@gatehouse/service-kit'

const log = createLog({ level: 'info', service: 'migrate' })

try {
  const given = readVariables(process.env, { DATABASE_URL: settings.DATABASE_URL.kind })
  const orm = await connectDatabase({ url: given.DATABASE_URL, applicationName: 'gatehouse-migrate' })
  await using opening = new AsyncDisposableStack()
  opening.defer(() => orm.close())
  const applied = await migrateDatabase(orm)
  log.info({ applied }, applied.length === 0 ? 'the database is up to date' : 'migrations applied')
  const services = await listServicesWithoutRole(orm.em.fork())
  if (services.length > 0)
    log.warn({ services }, 'services without a database role: see database_roles.sql in the secrets')
} catch (error) {
  reportStartError('migrate', error)
  process.exitCode = 1
}
