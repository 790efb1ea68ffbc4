export * from './start.ts'
export { healthEndpoints, resourceReadiness } from './health/health.ts'
export type { Readiness } from './health/health.ts'
export { answer } from './http/answer.ts'
export * from './http/client-network.ts'
export { asObject, fileForm, jsonBody, parseInput, parseJson } from './http/input.ts'
export { drainingHeader } from './http/drain.ts'
export { costsAtMost } from './http/json-cost.ts'
export * from './http/in-process-connections.ts'
export * from './http/listen.ts'
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
export * from './http/service-app.ts'
export * from './metrics/metrics.ts'
export * from './resources/open-resources.ts'
export type { OpenTracing } from './tracing/otlp-tracing.ts'
export { runService } from './run-service.ts'
export { UpstreamQuestions, askUpstream } from './upstreams/ask-upstream.ts'
export { OccasionalLog } from './upstreams/occasional-log.ts'
export { isTooDeep, readJson } from './upstreams/read-json.ts'
export { readUpstreams, upstreamsVariable } from './upstreams/read-upstreams.ts'
export * from './upstreams/watch-upstreams.ts'
