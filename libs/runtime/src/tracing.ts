import { AsyncLocalStorage } from 'node:async_hooks'

export type SpanKind = 'server' | 'client' | 'producer' | 'consumer'

/** Never a secret, token, address, query string or statement value. */
export type SpanAttributes = Record<string, string | number | boolean | undefined>

export type Span = {
  /** Sent to other processes, which continue the trace. W3C Trace Context. */
  readonly traceparent: string
  startChild(name: string, kind: SpanKind, attributes?: SpanAttributes): Span
  rename(name: string): void
  set(attributes: SpanAttributes): void
  /** `error` marks a failure. Only its kind, code or name is kept. */
  end(error?: unknown): void
}

/** A process has one only when traces are exported. */
export type Tracing = {
  /** `parent` is a traceparent of another process. */
  startSpan(name: string, kind: SpanKind, options?: { parent?: string | undefined; attributes?: SpanAttributes }): Span
}

const spans = new AsyncLocalStorage<Span>()

export function currentSpan(): Span | undefined {
  return spans.getStore()
}

export async function runInSpan<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    const result = await spans.run(span, work)
    span.end()
    return result
  } catch (error) {
    span.end(error)
    throw error
  }
}
