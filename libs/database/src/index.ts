export {
  DatabaseUnavailable,
  connectDatabase,
  databaseOptions,
  migrateDatabase,
  openDatabase,
} from './open-database.ts'
export type { DatabaseOptions } from './open-database.ts'
export { readPresentAudience } from './present-audience.ts'
export type { PresentAudience } from './present-audience.ts'
export { readAccountStates } from './read-account-states.ts'
export { reclaimDeadConnections } from './reclaim-dead-connections.ts'
export { changeRows, selectRows, violates } from './rows.ts'
