import type { Log } from '../log/log.ts'
import type { OpenTracing, TracingOptions } from './otlp-tracing.ts'

/** Loads the library only when needed. Disposing sends what is left. Contract: 8, OTEL_EXPORTER_OTLP_ENDPOINT. */
export async function openTracing(name: string, options: TracingOptions, log: Log): Promise<OpenTracing> {
  const { createOtlpTracing } = await import('./otlp-tracing.ts')
  return createOtlpTracing(name, options, log)
}
