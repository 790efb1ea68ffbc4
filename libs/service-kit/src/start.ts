// Separate from index.ts, so that a start need not wait for all modules.
export { version } from '@gatehouse/runtime'
export * from './config/configuration.ts'
export * from './config/settings.ts'
export type { FileWatch } from './config/watched-file.ts'
export { listSettings, readSettings, settings, uploadSettings, type Form, type Reader } from './config/table.ts'
export { createLog, type Log } from './log/log.ts'
export { reportStartError, runUntilStopped } from './run-until-stopped.ts'
export type { TracingOptions } from './tracing/otlp-tracing.ts'
