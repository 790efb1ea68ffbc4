import { AsyncLocalStorage } from 'node:async_hooks'

export type SpanKind = 'server' | 'client' | 'producer' | 'consumer'

/** Never a secret, a token, an address, a query string or a value of a statement. */
export type SpanAttributes = Record<string, string | number | boolean | undefined>

/** One timed step of a trace. */
export type Span = {
  /** The trace and this span, as the header of the same name has them. W3C Trace Context. */
  readonly traceparent: string
  startChild(name: string, kind: SpanKind, attributes?: SpanAttributes): Span
  rename(name: string): void
  set(attributes: SpanAttributes): void
  /** `error` marks it as failed: a kind of failure, or an error, of which only the code or the name is kept. */
  end(error?: unknown): void
}

/** Starts spans. A process has one when traces are exported, and none otherwise. */
export type Tracing = {
  /** `parent` is the traceparent of a span in another process; without it a trace begins. */
  startSpan(name: string, kind: SpanKind, options?: { parent?: string | undefined; attributes?: SpanAttributes }): Span
}

const spans = new AsyncLocalStorage<Span>()

/** The span that the running work belongs to. Without tracing there is none, and asking costs next to nothing. */
export function currentSpan(): Span | undefined {
  return spans.getStore()
}

/** Runs `work` as what `span` measures, and ends it. */
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
