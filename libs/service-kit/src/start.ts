// What a process needs before its services: it can begin its start while their modules are still loading.
export { ConfigurationError, readVariables, variables } from './config/configuration.ts'
export {
  federationVariables,
  networkVariables,
  publicAddress,
  publicVariables,
  readFederation,
  readTracing,
  tracingVariables,
  version,
} from './config/settings.ts'
export type { FederationReach, PublicAddress } from './config/settings.ts'
export { createLog } from './log/log.ts'
export type { Log } from './log/log.ts'
export { reportStartError, runUntilStopped } from './run-until-stopped.ts'
export type { TracingOptions } from './tracing/open-tracing.ts'
