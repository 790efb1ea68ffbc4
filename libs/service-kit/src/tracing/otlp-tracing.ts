import { systemTimer, type Span, type SpanAttributes, type SpanKind, type Tracing } from '@gatehouse/runtime'
import { DiagLogLevel, ROOT_CONTEXT, SpanKind as OtelKind, SpanStatusCode, diag, trace } from '@opentelemetry/api'
import type { SpanContext, Tracer } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, ParentBasedSampler } from '@opentelemetry/sdk-trace'
import { TraceIdRatioBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace'
import { OccasionalLog, type Log } from '../log/log.ts'
import { exportDelayMs, exportTimeoutMs } from '../policy.ts'

/** The base URL of an OTLP receiver over HTTP, and the share of traces that are recorded, from 0 to 1. */
export type TracingOptions = { endpoint: string; share: number }
export type OpenTracing = Tracing & AsyncDisposable

/** Spans that cannot be sent are dropped. */
export function createOtlpTracing(name: string, { endpoint, share }: TracingOptions, log: Log): OpenTracing {
  const occasional = new OccasionalLog({ log, timer: systemTimer })
  const complaint = 'traces cannot be exported; check OTEL_EXPORTER_OTLP_ENDPOINT'
  const report = (message: string): void => occasional.warn('export', { reason: message.slice(0, 300) }, complaint)
  const ignore = (): void => undefined
  diag.setLogger(
    { error: report, warn: report, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  )
  const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`
  const exporter = new OTLPTraceExporter({ url, timeoutMillis: exportTimeoutMs })
  const limits = { scheduledDelayMillis: exportDelayMs, exportTimeoutMillis: exportTimeoutMs }
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': name, 'service.namespace': 'gatehouse' }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(share) }),
    spanProcessors: [new BatchSpanProcessor({ exporter, ...limits })],
  })
  const tracer = provider.getTracer('gatehouse')
  return {
    startSpan: (spanName, kind, { parent, attributes = {} } = {}) =>
      startSpan(tracer, spanName, { kind, attributes, parent: parseTraceparent(parent) }),
    // A missing receiver must not delay the exit.
    [Symbol.asyncDispose]: () => provider.shutdown().catch((error: unknown) => report(String(error))),
  }
}

type StartOptions = { kind: SpanKind; attributes: SpanAttributes; parent: SpanContext | undefined }

function startSpan(tracer: Tracer, name: string, { kind, attributes, parent }: StartOptions): Span {
  const context = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT
  const otelKind = OtelKind[kind.toUpperCase() as Uppercase<SpanKind>]
  const span = tracer.startSpan(name, { kind: otelKind, attributes }, context)
  const { traceId, spanId, traceFlags } = span.spanContext()
  return {
    traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
    startChild: (child, childKind, childAttributes = {}) =>
      startSpan(tracer, child, { kind: childKind, attributes: childAttributes, parent: span.spanContext() }),
    rename: (newName) => void span.updateName(newName),
    set: (more) => void span.setAttributes(more),
    end: (error) => {
      if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute('error.type', typeOf(error))
      span.end()
    },
  }
}

/** An error message may quote user input. */
function typeOf(error: unknown): string {
  if (typeof error === 'string') return error
  if (!(error instanceof Error)) return 'error'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

/** Undefined if it is malformed or not of version 00. W3C Trace Context, 3.2. */
export function parseTraceparent(text: string | undefined): SpanContext | undefined {
  const [, traceId, spanId, flags] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(text ?? '') ?? []
  if (!traceId || !spanId || !flags || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true }
}
