/** Answered with 503 and Retry-After. Contract: 1. */
export class Unavailable extends Error {
  readonly retryAfterSeconds: number

  constructor(message: string, options: { retryAfterSeconds?: number; cause?: unknown } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.retryAfterSeconds = options.retryAfterSeconds ?? 1
  }
}
