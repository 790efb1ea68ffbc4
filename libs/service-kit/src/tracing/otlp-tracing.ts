import type { Span, SpanAttributes, SpanKind, Tracing } from '@gatehouse/runtime'
import {
  DiagLogLevel,
  ROOT_CONTEXT,
  SpanKind as OtelKind,
  SpanStatusCode,
  diag,
  trace,
  type Span as OtelSpan,
  type SpanContext,
  type Tracer,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Log } from '../log/log.ts'
import { exportComplaintMs, exportDelayMs, exportTimeoutMs } from '../policy.ts'

export type TracingOptions = {
  /** The base URL of an OTLP receiver over HTTP, such as `http://collector:4318`. */
  endpoint: string
  /** The share of traces that are recorded, from 0 to 1. */
  share: number
}

export type OpenTracing = Tracing & AsyncDisposable

const kinds: Record<SpanKind, OtelKind> = {
  server: OtelKind.SERVER,
  client: OtelKind.CLIENT,
  producer: OtelKind.PRODUCER,
  consumer: OtelKind.CONSUMER,
}

/** Spans that cannot be sent are dropped. */
export function createOtlpTracing(name: string, { endpoint, share }: TracingOptions, log: Log): OpenTracing {
  const report = createReporter(log)
  const ignore = (): void => undefined
  diag.setLogger(
    { error: report, warn: report, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  )
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
    timeoutMillis: exportTimeoutMs,
  })
  const processor = new BatchSpanProcessor({
    exporter,
    scheduledDelayMillis: exportDelayMs,
    exportTimeoutMillis: exportTimeoutMs,
  })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': name, 'service.namespace': 'gatehouse' }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(share) }),
    spanProcessors: [processor],
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
  return new RecordedSpan(tracer, tracer.startSpan(name, { kind: kinds[kind], attributes }, context))
}

class RecordedSpan implements Span {
  readonly #tracer: Tracer
  readonly #span: OtelSpan

  constructor(tracer: Tracer, span: OtelSpan) {
    this.#tracer = tracer
    this.#span = span
  }

  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.#span.spanContext()
    return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
  }

  startChild(name: string, kind: SpanKind, attributes: SpanAttributes = {}): Span {
    return startSpan(this.#tracer, name, { kind, attributes, parent: this.#span.spanContext() })
  }

  rename(name: string): void {
    this.#span.updateName(name)
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes(attributes)
  }

  end(error?: unknown): void {
    if (error !== undefined) {
      this.#span.setStatus({ code: SpanStatusCode.ERROR })
      this.#span.setAttribute('error.type', typeOf(error))
    }
    this.#span.end()
  }
}

/** An error message may quote user input. */
function typeOf(error: unknown): string {
  if (typeof error === 'string') return error
  if (!(error instanceof Error)) return 'error'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

/** W3C Trace Context, 3.2. */
export function parseTraceparent(text: string | undefined): SpanContext | undefined {
  const [, traceId, spanId, flags] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(text ?? '') ?? []
  if (!traceId || !spanId || !flags || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true }
}

function createReporter(log: Log): (message: string) => void {
  let nextMs = 0
  return (message) => {
    if (performance.now() < nextMs) return
    nextMs = performance.now() + exportComplaintMs
    log.warn({ reason: message.slice(0, 300) }, 'traces cannot be exported; check OTEL_EXPORTER_OTLP_ENDPOINT')
  }
}
