// Separate from index.ts, so that a start need not wait for all modules.
export * from './config/configuration.ts'
export * from './config/settings.ts'
export { listSettings, readSettings, settings, uploadSettings } from './config/table.ts'
export type { Form, Reader } from './config/table.ts'
export { createLog } from './log/log.ts'
export type { Log } from './log/log.ts'
export { reportStartError, runUntilStopped } from './run-until-stopped.ts'
export type { TracingOptions } from './tracing/otlp-tracing.ts'
