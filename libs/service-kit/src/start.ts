// Separate from index.ts, so that a start need not wait for all modules.
export { ConfigurationError, readVariables, variables } from './config/configuration.ts'
export {
  commonResources,
  publicAddress,
  readFederation,
  readTracing,
  serviceConfig,
  tokenConfig,
  upstreamsConfig,
  version,
} from './config/settings.ts'
export type { FederationReach, PublicAddress, ServiceConfig, TokenConfig } from './config/settings.ts'
export { listSettings, readSettings, settings } from './config/table.ts'
export type { Form, Reader } from './config/table.ts'
export { createLog } from './log/log.ts'
export type { Log } from './log/log.ts'
export { reportStartError, runUntilStopped } from './run-until-stopped.ts'
export type { TracingOptions } from './tracing/otlp-tracing.ts'
