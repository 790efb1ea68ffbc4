/**
 * A dependency of this process is unavailable: the database, the bus, the cache, a service. It is answered with 503 and
 * Retry-After where nothing catches it. Contract: 1.
 */
export class Unavailable extends Error {
  /** When the client may try again, in seconds. */
  readonly retryAfterSeconds: number

  constructor(message: string, options: { retryAfterSeconds?: number; cause?: unknown } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.retryAfterSeconds = options.retryAfterSeconds ?? 1
  }
}
