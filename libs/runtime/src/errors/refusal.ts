/** The declaration of a refusal: its HTTP status and its message for people. */
export type RefusalDefinition = { status: number; message: string }

/** The JSON body of a refusal: message, status and the fields that the contract names beside them. */
export type RefusalBody = { error: string; statusCode: number } & Record<string, unknown>

type Extra = {
  /** Fields beside `error` and `statusCode` in the body. */
  fields?: Record<string, unknown>
  /** Response headers, for example `Retry-After`. */
  headers?: Record<string, string>
  /** Replaces the declared message, where the rule's text depends on the input. */
  message?: string
  cause?: unknown
}

/** An input or state that a rule refuses. Thrown by operations; `toErrorResponse` maps it for HTTP and the bus. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: string
  readonly status: number
  readonly fields: Record<string, unknown>
  readonly headers: Record<string, string>

  constructor(code: string, definition: RefusalDefinition, extra: Extra = {}) {
    super(extra.message ?? definition.message, extra.cause === undefined ? undefined : { cause: extra.cause })
    this.code = code
    this.status = definition.status
    this.fields = extra.fields ?? {}
    this.headers = extra.headers ?? {}
  }

  /** The JSON body of the answer. Contract: 1. */
  get body(): RefusalBody {
    return { ...this.fields, error: this.message, statusCode: this.status }
  }
}

/** Whether a thrown value is a refusal, as opposed to a fault. */
export function isRefusal(value: unknown): value is Refusal {
  return value instanceof Refusal
}

/** Declares refusals once; each becomes a function that makes the error to throw: `throw refuse.name_taken()`. */
export function defineErrors<T extends Record<string, RefusalDefinition>>(
  definitions: T,
): { [Code in keyof T]: (extra?: Extra) => Refusal } {
  const entries = Object.entries(definitions).map(([code, definition]) => [
    code,
    (extra?: Extra) => new Refusal(code, definition, extra),
  ])
  return Object.fromEntries(entries) as { [Code in keyof T]: (extra?: Extra) => Refusal }
}
