export { readVariables, ConfigurationError, variables } from './configuration.ts'
export { createServiceApp } from './service-app.ts'
export type { ServiceApp, ServiceContext } from './service-app.ts'
export { adminOf, callerOf, memberOf } from './caller.ts'
export { asObject, fileForm, jsonBody } from './body.ts'
export { parseInput } from './parse-input.ts'
export { listen } from './listen.ts'
export type { Listening } from './listen.ts'
export { createLog } from './log.ts'
export type { Log } from './log.ts'
export { createMetrics } from './metrics.ts'
export type { Metrics } from './metrics.ts'
export { requestIdHeader, acceptRequestId, requestIdOf } from './request-id.ts'
export { runUntilStopped } from './run-until-stopped.ts'
export { answerOperations } from './operations-endpoints.ts'
export type { Readiness } from './operations-endpoints.ts'
export { answerFor } from './answer-for.ts'
export { version } from './version.ts'
export { openEdgePorts, openPorts } from './resources/open-ports.ts'
export type { EdgePorts, Ports } from './resources/open-ports.ts'
export {
  federationVariables,
  networkVariables,
  placesOf,
  publicAddress,
  publicVariables,
  readFederation,
} from './resources/settings.ts'
export type { FederationReach, PublicAddress } from './resources/settings.ts'
export { portReadiness, startHttp } from './resources/start-http.ts'
export type { RunningService } from './resources/start-http.ts'
