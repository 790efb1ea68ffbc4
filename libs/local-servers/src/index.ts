export { findUnprivilegedUser } from './closed-folders.ts'
export { findOnPath, findProgram, missingProgram, requireProgram } from './find-program.js'
export * from './folder-lock.ts'
export * from './managed-process.ts'
export * from './nats-and-redis.ts'
export {
  copyPostgresData,
  startEphemeralPostgres,
  OtherVersion,
  startPersistentPostgres,
  WrongPassword,
} from './postgres.ts'
export { commandLineOf, isRunning, killTree, listTree } from './process-tree.ts'
export { freePort, readFirstBytes, startConfiguredServer, type LocalServer } from './server-process.ts'
export { createScratchFolder, removeFolder, unwatchProcess, watchFolder, watchProcess } from './watchdog.ts'
