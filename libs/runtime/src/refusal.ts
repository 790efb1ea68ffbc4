import { refusals, type InputFault, type RefusalCode, type RefusalFields } from '@gatehouse/contracts'

/** Every service and the gateway answer an error in this form. Contract: 1, errors. */
export type RefusalBody = { error: string; statusCode: number; code?: string } & Record<string, unknown>
type Declared = { status: number; text: string }
/** `fields` stand beside `error`, `statusCode` and `code`. */
type Extra = { fields?: Record<string, unknown>; headers?: Record<string, string>; cause?: unknown }

/** A rule refuses an input or state. `toErrorResponse` maps it. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: string
  readonly status: number
  readonly fields: Record<string, unknown>
  readonly headers: Record<string, string>

  constructor(code: string, { status, text }: Declared, { fields = {}, headers = {}, cause }: Extra = {}) {
    super(text, cause === undefined ? undefined : { cause })
    this.code = code
    this.status = status
    this.fields = fields
    this.headers = headers
  }

  get body(): RefusalBody {
    const code = this.code === 'rate_limited' ? {} : { code: this.code }
    return { ...code, ...this.fields, error: this.message, statusCode: this.status }
  }
}

export function isRefusal(value: unknown): value is Refusal {
  return value instanceof Refusal
}

type ExtraOf<Code extends RefusalCode> = Omit<Extra, 'fields'> & { fields: RefusalFields<Code> }
type RefuseArguments<Code extends RefusalCode> =
  Partial<RefusalFields<Code>> extends RefusalFields<Code> ? [extra?: Partial<ExtraOf<Code>>] : [extra: ExtraOf<Code>]
type Refuse = { readonly [Code in RefusalCode]: (...args: RefuseArguments<Code>) => Refusal }

const refusing = Object.entries<Declared>(refusals).map(
  ([code, declared]) => [code, (extra?: Extra) => new Refusal(code, declared, extra)] as const,
)
export const refuse = Object.fromEntries(refusing) as unknown as Refuse

const words: Record<InputFault['reason'], string> = {
  required: 'is required',
  wrong_type: 'has the wrong type',
  invalid: 'is not valid',
  too_short: 'is too short',
  too_long: 'is too long',
  too_small: 'is too small',
  too_large: 'is too large',
  characters: 'contains characters that are not allowed',
  repeated: 'is given more than once',
  malformed: 'is malformed',
}

/** `text` replaces that of the fault. */
export function invalidInput(fault: InputFault, { text, cause }: { text?: string; cause?: unknown } = {}): Refusal {
  const { field, reason, min, max } = fault
  const bound = min !== undefined ? `: at least ${min}` : max !== undefined ? `: at most ${max}` : ''
  const declared = { status: 400, text: text || `${field} ${words[reason]}${bound}` }
  return new Refusal('validation_failed', declared, { fields: { details: fault }, cause })
}

/** `retryAfter` in seconds. Contract: 1, rate limits. */
export function rateLimited(retryAfter: number): Refusal {
  const fields = { message: 'Rate limit exceeded', retryAfter } as const
  return refuse.rate_limited({ headers: { 'Retry-After': String(retryAfter) }, fields })
}

/** Answered with 503 and Retry-After. Contract: 1, statuses. */
export class Unavailable extends Error {
  readonly retryAfterSeconds: number

  constructor(message: string, options: ErrorOptions & { retryAfterSeconds?: number } = {}) {
    super(message, options)
    this.retryAfterSeconds = options.retryAfterSeconds ?? 1
  }
}

/** An unavailable dependency is 503 with Retry-After, a fault 500 without a detail, logged in full. Spec: Errors; Contract: 1, statuses. */
export function toErrorResponse(error: unknown): { refusal: Refusal; fault: boolean } {
  if (error instanceof Refusal) return { refusal: error, fault: error.status === 500 }
  if (!(error instanceof Unavailable)) return { refusal: refuse.internal({ cause: error }), fault: true }
  const headers = { 'Retry-After': String(error.retryAfterSeconds) }
  return { refusal: refuse.unavailable({ headers, cause: error }), fault: true }
}
