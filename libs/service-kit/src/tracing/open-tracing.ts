import type { Tracing } from '@gatehouse/runtime'
import type { Log } from '../log/log.ts'

export type TracingOptions = {
  /** The base URL of an OTLP receiver over HTTP, such as `http://collector:4318`. */
  endpoint: string
  /** The share of traces that are recorded, from 0 to 1. */
  share: number
}

export type OpenTracing = Tracing & AsyncDisposable

/**
 * Exports traces to `endpoint`; disposing it sends what is left. The library is loaded here and only here: a process
 * without an endpoint does not load it. Contract: 8, OTEL_EXPORTER_OTLP_ENDPOINT.
 */
export async function openTracing(name: string, options: TracingOptions, log: Log): Promise<OpenTracing> {
  const { createOtlpTracing } = await import('./otlp-tracing.ts')
  return createOtlpTracing(name, options, log)
}
