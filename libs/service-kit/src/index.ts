export * from './start.ts'
export { healthEndpoints, resourceReadiness } from './health/health.ts'
export type { Readiness } from './health/health.ts'
export { clientNetwork, siteNetwork } from './http/client-network.ts'
export { asObject, fileForm, jsonBody, parseInput, parseJson } from './http/input.ts'
export { drainingHeader } from './http/drain.ts'
export { inProcessConnections } from './http/in-process-connections.ts'
export type { OpenConnection } from './http/in-process-connections.ts'
export { listen } from './http/listen.ts'
export type { Lifecycle, ListenOptions, Listening } from './http/listen.ts'
export {
  adminsOnly,
  acceptRequestId,
  callerOf,
  operatorsOnly,
  requestIdHeader,
  requestIdOf,
  requireAdmin,
  requireUser,
} from './http/request-state.ts'
export type { AppState } from './http/request-state.ts'
export { createServiceApp, handleErrors } from './http/service-app.ts'
export type { ServiceApp } from './http/service-app.ts'
export { startHttpService } from './http/start-http-service.ts'
export type { RunningService } from './http/start-http-service.ts'
export { createMetrics } from './metrics/metrics.ts'
export type { Metrics } from './metrics/metrics.ts'
export { openResources } from './resources/open-resources.ts'
export type { Context, Opened, ResourceOptions, Resources } from './resources/open-resources.ts'
export { openTracing } from './tracing/open-tracing.ts'
export type { OpenTracing } from './tracing/otlp-tracing.ts'
export { runService } from './run-service.ts'
export { readUpstreams, upstreamsVariable } from './upstreams/read-upstreams.ts'
export { noUpstreams, watchUpstreams } from './upstreams/watch-upstreams.ts'
export type { UpstreamsWatch } from './upstreams/watch-upstreams.ts'
